// The socket as every page has it that shows state: frames in order, the page read again when some
// are missing, the label that says how fresh things are, and polling where sockets are blocked.
"use strict";

window.routeradminLink = (() => {
  const STALE_MS = 10000;
  const SILENT_MS = 6000;
  const POLL_MS = 5000;
  const RETURN_MS = 1000; // how long a page that is looked at again waits for its socket

  const time = window.routeradminTime;

  // `page.place`: epoch, seq, revision and process of what it shows. `page.read` reads it again and
  // answers with the new place, or with null where it stands still for now; `page.heard` gets each
  // frame that is in order, `page.changed` is called when a frame has been shown.
  function follow(page) {
    const label = document.getElementById("link-state");
    label.hidden = false;
    const pauseButton = document.getElementById("pause");
    let link = { state: "connecting", since: Date.now() };
    let heard = Date.now(); // when the last frame or reading came
    let readAt = 0;
    let place = page.place;
    let paused = false;
    let waiting = 0; // frames that came while paused
    let pending = null; // a reading under way

    function set(state) {
      if (link.state !== state) link = { state, since: Date.now() };
      show();
    }

    const over = () => ["closed", "gone"].includes(link.state);

    function words(silent) {
      const seconds = (ms) => Math.max(0, Math.round(ms / 1000));
      const stale = `stale for ${seconds(silent)} s`;
      if (paused) return ["paused", `paused · ${waiting} update${waiting === 1 ? "" : "s"} waiting`];
      if (link.state === "gone") return ["closed", "deleted"];
      if (link.state === "closed") return ["closed", "signed out: load the page to sign in"];
      if (link.state === "live") return silent > SILENT_MS ? ["stale", stale] : ["live", "live"];
      if (silent > STALE_MS) return ["stale", `${link.state}, ${stale}`];
      if (readAt > link.since) return ["polling", `no socket: reading every ${seconds(POLL_MS)} s`];
      return [link.state, `${link.state} ${seconds(Date.now() - link.since)} s`];
    }

    function show() {
      if (document.hidden) return;
      const silent = Date.now() - heard;
      const [state, text] = words(silent);
      label.dataset.state = state;
      if (label.textContent !== text) label.textContent = text;
      const stale = String((silent > STALE_MS && !paused) || link.state === "gone");
      if (document.body.dataset.stale !== stale) document.body.dataset.stale = stale;
      // What an action would act on is not known any more.
      for (const part of document.querySelectorAll(".act")) {
        if (part.inert !== (stale === "true")) part.inert = stale === "true";
      }
      const age = document.querySelector("[data-age]");
      const told = silent < 1500 ? "now" : `${Math.round(silent / 1000)} s`;
      if (age && age.textContent !== told) age.textContent = told;
    }

    // `after`: what the answer has to have seen. Without it, only a new reading will do.
    function read(after = "") {
      if (link.state === "gone") return Promise.resolve();
      pending ??= page.read(after)
        .then((found) => {
          if (!found) return;
          place = found;
          time.measure(place.now);
          heard = readAt = Date.now();
          time.tick();
          show();
        })
        .catch((problem) => {
          if (problem.message === "signed out") set("closed");
          if (problem.message === "gone") {
            set("gone");
            page.gone?.();
          }
        })
        .finally(() => { pending = null; });
      return pending;
    }

    // A reading that was under way when the frame came may be older than it.
    async function catchUp(frame) {
      if (pending) await pending;
      await read(`${frame.process}:${frame.seq}`);
      place = { ...place, epoch: frame.epoch, seq: frame.seq, revision: frame.revision };
    }

    // A page that was read later than the greeting's place has all of it, if one process made both.
    const behind = (frame) => frame.kind === "hello"
      ? frame.seq > place.seq || frame.process !== place.process
      : frame.previous_seq !== place.seq;

    const shown = (html) =>
      html.replace(/<hx-partial hx-target="(\[data-cell=[\w-]+\]|#\w+)"[^]*?<\/hx-partial>/g, (piece, selector) =>
        document.querySelector(selector) ? piece : "");

    document.addEventListener("htmx:ws:before:message:incoming", (event) => {
      const frame = JSON.parse(event.detail.message.data);
      if (document.hidden || link.state === "gone") { // what is not shown is a gap, and read when someone looks again
        event.detail.cancelled = true;
        return;
      }
      time.measure(frame.now);
      heard = Date.now();
      set("live");
      if (paused) {
        if (frame.kind === "update") waiting += 1;
        event.detail.cancelled = true;
        show();
        return;
      }
      if (behind(frame) || frame.epoch !== place.epoch || frame.revision !== place.revision) {
        // Frames wait in line meanwhile, and say the newest value again: nothing goes backwards.
        event.detail.waitUntil(catchUp(frame));
      } else place.seq = frame.seq;
      page.heard?.(frame);
      if (frame.content !== undefined) {
        frame.content = shown(frame.content);
        event.detail.message.data = JSON.stringify(frame);
      }
    });

    document.addEventListener("htmx:ws:after:message:incoming", () => {
      time.tick();
      page.changed?.();
    });
    document.addEventListener("htmx:ws:after:connection", () => {
      heard = Date.now();
      if (link.state !== "gone") set("live");
    });
    document.addEventListener("htmx:ws:close", (event) => {
      if (link.state !== "gone") set([4401, 4403].includes(event.detail.code) ? "closed" : "reconnecting");
    });
    window.addEventListener("offline", () => { if (!over()) set("reconnecting"); });

    document.addEventListener("visibilitychange", () => {
      const left = heard;
      if (document.hidden) return;
      // The socket comes back by itself and tells whether something was missed.
      setTimeout(() => { if (heard === left && !paused && !over()) read(); }, RETURN_MS);
    });

    if (pauseButton) pauseButton.hidden = false;
    pauseButton?.addEventListener("click", () => {
      paused = !paused;
      pauseButton.setAttribute("aria-pressed", String(paused));
      pauseButton.textContent = paused ? "Resume" : "Pause";
      waiting = 0;
      show();
      if (!paused) read();
    });

    show();
    setInterval(show, 500);
    setInterval(() => {
      const well = link.state === "live" && Date.now() - heard < STALE_MS;
      if (paused || document.hidden || well || over()) return;
      if (Date.now() - heard > POLL_MS - 500) read(`${place.process}:${place.seq}`);
    }, POLL_MS);

    return {
      read,
      get paused() { return paused; },
      get place() { return place; },
    };
  }

  // What a page's part says about where in the stream it was read.
  const placeOf = (part) => ({
    process: part.dataset.process,
    epoch: part.dataset.epoch,
    seq: Number(part.dataset.seq),
    revision: Number(part.dataset.revision),
    now: part.dataset.now,
  });

  // The document at an address, as far as this session may see it.
  async function fetched(address, headers) {
    const answer = await fetch(address, { headers, redirect: "manual", cache: "no-store" });
    if (answer.type === "opaqueredirect" || answer.status === 401) throw new Error("signed out");
    if (answer.status === 404) throw new Error("gone");
    if (!answer.ok) throw new Error(`${address}: ${answer.status}`);
    return new DOMParser().parseFromString(await answer.text(), "text/html");
  }

  // Parts that are made once for all who look at them have forms without a token: this page's own.
  function sign(fresh) {
    const token = document.querySelector('input[name="csrfmiddlewaretoken"]');
    for (const form of fresh.querySelectorAll('form[method="post"]')) {
      if (token && !form.querySelector('input[name="csrfmiddlewaretoken"]')) form.prepend(token.cloneNode());
    }
  }

  // Same elements stay (morphing), so focus, open groups and typed text survive.
  function morph(present, fresh) {
    const here = document.activeElement?.id;
    htmx.swap({ sourceElement: present, target: present, swap: "outerMorph", text: fresh.outerHTML });
    if (here && document.activeElement?.id !== here) document.getElementById(here)?.focus();
  }

  // Only the values of cells, wherever they stand.
  function fill(fresh, root) {
    for (const cell of fresh.querySelectorAll("[data-cell]")) {
      for (const present of root.querySelectorAll(`[data-cell="${cell.dataset.cell}"]`)) {
        if (present.innerHTML !== cell.innerHTML) present.innerHTML = cell.innerHTML;
      }
    }
  }

  return { follow, placeOf, fetched, morph, fill, sign };
})();
