// The live page: frames in order, snapshots when something is missing, and rows that never move
// under the pointer. htmx and its socket extension do the swapping; this decides what is let in.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const STALE_MS = 10000;
  const SILENT_MS = 6000;
  const POLL_MS = 5000;
  const SPEAK_MS = 5000;

  const time = window.routeradminTime;
  const label = document.getElementById("link-state");
  const pauseButton = document.getElementById("pause");
  const applyButton = document.getElementById("apply-order");
  const board = () => document.getElementById("live-board");

  let link = { state: "connecting", since: Date.now() };
  let heard = Date.now(); // when the last frame or snapshot came
  let epoch = board().dataset.epoch;
  let seq = Number(board().dataset.seq);
  let revision = Number(board().dataset.revision);
  let paused = false;
  let waiting = 0; // frames that came while paused
  let held = null; // a snapshot whose rows stand in another order

  pauseButton.hidden = false;

  // Connection label ------------------------------------------------------------

  function setLink(state) {
    if (link.state !== state) link = { state, since: Date.now() };
    showLink();
  }

  function showLink() {
    const silent = Date.now() - heard;
    const seconds = (since) => Math.max(0, Math.round((Date.now() - since) / 1000));
    let [state, text] = [link.state, link.state];
    if (state === "live" && silent > SILENT_MS) {
      [state, text] = ["stale", `stale for ${Math.round(silent / 1000)} s`];
    } else if (state === "reconnecting") {
      text = silent > STALE_MS
        ? `reconnecting, stale for ${Math.round(silent / 1000)} s`
        : `reconnecting ${seconds(link.since)} s`;
    } else if (state === "closed") {
      text = "signed out: load the page to sign in";
    }
    if (paused) text = `paused · ${waiting} update${waiting === 1 ? "" : "s"} waiting`;
    label.dataset.state = state;
    if (label.textContent !== text) label.textContent = text;
    const stale = String(silent > STALE_MS);
    if (document.body.dataset.stale !== stale) {
      document.body.dataset.stale = stale;
      // What an action would act on is not known any more.
      for (const cell of document.querySelectorAll(".act")) cell.inert = stale === "true";
    }
    const age = document.querySelector("[data-age]");
    if (age) age.textContent = silent < 1500 ? "now" : `${Math.round(silent / 1000)} s`;
  }

  // Order: failed first, by rank and name ----------------------------------------

  const rank = (row) => Number(row.querySelector("[data-rank]")?.dataset.rank ?? 99);
  const byRank = (a, b) =>
    rank(a) - rank(b) || (a.dataset.name < b.dataset.name ? -1 : Number(a.dataset.name > b.dataset.name));

  function disordered() {
    return [...document.querySelectorAll("[data-board]")].filter((list) => {
      const rows = [...list.children];
      return rows.some((row, i) => i > 0 && byRank(rows[i - 1], row) > 0);
    });
  }

  // Groups: the worst row's rank, those without a route last, then the title.
  function byGroup(a, b) {
    const worst = (group) => Math.min(99, ...[...group.querySelectorAll("[data-rank]")].map((e) => Number(e.dataset.rank)));
    const loose = (group) => Number("loose" in group.dataset);
    const title = (group) => group.dataset.title.toLowerCase();
    return worst(a) - worst(b) || loose(a) - loose(b)
      || (title(a) < title(b) ? -1 : Number(title(a) > title(b)));
  }

  const groups = () => [...board().querySelectorAll(".boards > details.group")];
  const groupsMoved = () => groups().some((group, i, all) => i > 0 && byGroup(all[i - 1], group) > 0);

  function busy() {
    const place = board();
    return place.matches(":hover") || place.contains(document.activeElement)
      || Boolean(document.querySelector("details[data-menu][open], dialog[open]"));
  }

  function settleOrder(force) {
    const moved = () => Boolean(held || disordered().length || groupsMoved());
    if (moved() && (force || !busy())) {
      if (held) replaceBoard(held);
      for (const list of disordered()) arrange(list, [...list.children].sort(byRank));
      if (groupsMoved()) arrange(groups()[0].parentElement, groups().sort(byGroup));
    }
    applyButton.hidden = !moved();
  }

  // Moves only what stands wrong: a board of a hundred groups is not laid out anew for one.
  function arrange(parent, wanted) {
    let at = wanted[0].parentElement === parent ? [...parent.children].find((one) => wanted.includes(one)) : null;
    for (const one of wanted) {
      if (one === at) at = at.nextElementSibling;
      else if (at && one === at.nextElementSibling) {
        parent.append(at); // it belongs further down and is met again there
        at = one.nextElementSibling;
      } else parent.insertBefore(one, at);
    }
  }

  // Not with every frame: what jumps four times a second cannot be read.
  let settling = null;
  function settleSoon() {
    settling ??= setTimeout(() => { settling = null; settleOrder(false); }, 500);
  }

  applyButton.addEventListener("click", () => settleOrder(true));

  // Snapshots ---------------------------------------------------------------------

  async function fetchSnapshot() {
    const answer = await fetch(location.href, {
      headers: { "HX-Request": "true", "HX-Target": "div#live-board" },
      redirect: "manual",
      cache: "no-store",
    });
    if (answer.type === "opaqueredirect" || answer.status === 401) {
      setLink("closed");
      throw new Error("signed out");
    }
    if (!answer.ok) throw new Error(`snapshot: ${answer.status}`);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    takeSnapshot(page.getElementById("live-board"));
  }

  function takeSnapshot(fresh) {
    if (!fresh) return;
    time.measure(fresh.dataset.now);
    heard = Date.now();
    epoch = fresh.dataset.epoch;
    seq = Number(fresh.dataset.seq);
    revision = Number(fresh.dataset.revision);
    const shape = (root) => [...root.querySelectorAll("[data-row], .group")].map((e) => e.id).join();
    if (busy()) {
      fillCells(fresh);
      held = shape(fresh) === shape(board()) ? null : fresh;
    } else replaceBoard(fresh);
    settleOrder(false);
    time.tick();
    showLink();
  }

  // Same elements stay (morphing), so focus, open groups and typed text survive.
  function replaceBoard(fresh) {
    held = null;
    for (const group of fresh.querySelectorAll("details.group")) {
      const present = document.getElementById(group.id);
      if (present) group.open = present.open;
    }
    const here = document.activeElement?.id;
    htmx.swap({ sourceElement: board(), target: board(), swap: "outerMorph", text: fresh.outerHTML });
    if (here && document.activeElement?.id !== here) document.getElementById(here)?.focus();
  }

  // Only the values: rows stand still while someone points at them.
  function fillCells(fresh) {
    for (const cell of fresh.querySelectorAll("[data-cell]")) {
      for (const present of board().querySelectorAll(`[data-cell="${cell.dataset.cell}"]`)) {
        present.innerHTML = cell.innerHTML;
      }
    }
    for (const row of fresh.querySelectorAll("[data-row]")) {
      const [from, to] = [row, document.getElementById(row.id)].map((r) => r?.querySelector(".who-cell"));
      if (to && from.textContent !== to.textContent) to.innerHTML = from.innerHTML;
    }
    for (const title of fresh.querySelectorAll(".group .title")) {
      const present = document.getElementById(title.closest(".group").id)?.querySelector(".title");
      if (present) present.textContent = title.textContent;
    }
    const strip = [fresh, board()].map((root) => root.querySelector("[data-revision]"));
    if (strip[0] && strip[1]) strip[1].textContent = strip[0].textContent;
  }

  let pending = null;
  function snapshot() {
    pending ??= fetchSnapshot().catch(() => {}).finally(() => { pending = null; });
    return pending;
  }

  // Heartbeat strips: a frame brings one tick, the strip moves on by one ---------------

  const BEATS = { o: "b-ok", e: "b-error", l: "b-limited", c: "b-cooling" };

  function moveBeats(latest) {
    for (const strip of document.querySelectorAll("[data-beats]")) {
      const ticks = strip.dataset.ticks.slice(1) + (latest[strip.dataset.beats] ?? ".");
      strip.dataset.ticks = ticks;
      for (const [letter, name] of Object.entries(BEATS)) {
        const bars = [...ticks].map((tick, n) => (tick === letter ? `M${4 * n} 0h3v10h-3z` : ""));
        strip.querySelector(`.${name}`).setAttribute("d", bars.join(""));
      }
    }
  }

  function showErrors(share) {
    const figure = document.querySelector("[data-errors]");
    if (figure) figure.textContent = share === null ? "–" : `${(100 * share).toFixed(1)} %`;
  }

  // Frames ------------------------------------------------------------------------

  const present = (html) =>
    html.replace(/<hx-partial hx-target="(\[data-cell=[\w-]+\])"[^]*?<\/hx-partial>/g, (piece, selector) =>
      document.querySelector(selector) ? piece : "");

  document.addEventListener("htmx:ws:before:message:incoming", (event) => {
    const frame = JSON.parse(event.detail.message.data);
    time.measure(frame.now);
    heard = Date.now();
    setLink("live");
    if (paused) {
      if (frame.kind === "update") waiting += 1;
      event.detail.cancelled = true;
      showLink();
      return;
    }
    // A page read later than the greeting's place has all of it, if the same process made both.
    const behind = frame.kind === "hello"
      ? frame.seq > seq || frame.process !== board().dataset.process
      : frame.previous_seq !== seq;
    const missing = behind || frame.epoch !== epoch || frame.revision !== revision;
    if (missing) {
      // Frames wait in line meanwhile, and say the newest value again: nothing goes backwards.
      event.detail.waitUntil(snapshot().then(() => {
        [epoch, seq, revision] = [frame.epoch, frame.seq, frame.revision];
      }));
    } else {
      seq = frame.seq;
      if (frame.beats) {
        moveBeats(frame.beats);
        showErrors(frame.error_share);
      }
    }
    if (frame.content !== undefined) {
      frame.content = present(frame.content);
      event.detail.message.data = JSON.stringify(frame);
      if (frame.content.includes('#tail"')) speak(frame.content);
    }
  });

  document.addEventListener("htmx:ws:after:message:incoming", () => {
    time.tick();
    settleSoon();
    const tail = document.getElementById("tail");
    if (tail?.children.length) document.querySelector("[data-none]")?.remove();
    while (tail && tail.children.length > 12) tail.lastElementChild.remove();
    showTitle();
  });

  document.addEventListener("htmx:ws:after:connection", () => { heard = Date.now(); setLink("live"); });
  document.addEventListener("htmx:ws:close", (event) => {
    const code = event.detail.code;
    setLink(code === 4401 || code === 4403 ? "closed" : "reconnecting");
  });
  window.addEventListener("offline", () => setLink("reconnecting"));

  // Words: one summary at most every few seconds, of state changes only -------------

  let spokenAt = 0;
  function speak() {
    if (Date.now() - spokenAt < SPEAK_MS) return;
    spokenAt = Date.now();
    setTimeout(() => {
      const figures = [...document.querySelectorAll(".strip a.figure")].slice(1)
        .map((f) => [f.querySelector(".value")?.textContent.trim(), f.querySelector(".name")?.textContent])
        .filter(([n, name]) => n !== "0" && name !== "active")
        .map((pair) => pair.join(" "));
      document.getElementById("spoken").textContent = figures.join(", ") || "all candidates healthy";
    }, 500);
  }

  // What needs a person is told by the tab too: in the title and by another icon.
  const title = document.title;
  const icon = document.querySelector('link[rel="icon"]');
  const calm = icon.href;
  function showTitle() {
    const wrong = ["needs-attention", "unhealthy"]
      .map((state) => Number.parseInt(document.querySelector(`[data-cell="sum-${state}"]`)?.textContent, 10) || 0)
      .reduce((sum, n) => sum + n, 0);
    const wanted = wrong ? `(${wrong}) ${title}` : title;
    if (document.title !== wanted) document.title = wanted;
    const shown = wrong ? icon.dataset.alarm : calm;
    if (icon.href !== new URL(shown, location.href).href) icon.href = shown;
  }

  // Pause, return, polling ----------------------------------------------------------

  pauseButton.addEventListener("click", () => {
    paused = !paused;
    pauseButton.setAttribute("aria-pressed", String(paused));
    pauseButton.textContent = paused ? "Resume" : "Pause";
    waiting = 0;
    if (!paused) snapshot();
    showLink();
  });

  document.addEventListener("visibilitychange", () => {
    if (!document.hidden && !paused) snapshot();
  });

  setInterval(showLink, 500);
  setInterval(() => {
    const well = link.state === "live" && Date.now() - heard < STALE_MS;
    if (paused || document.hidden || well || link.state === "closed") return;
    if (Date.now() - heard > POLL_MS - 500) snapshot();
  }, POLL_MS);
  showTitle();
});
