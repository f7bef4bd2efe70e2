// The live page: what a frame or a new reading changes on the board. htmx and its socket extension
// do the swapping, link.js decides what is let in, order.js when rows may move.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const SPEAK_MS = 5000;
  const SETTLE_MS = 400; // what comes and goes within this is not read
  const REREAD_MS = 3000; // between two readings because rows came or went
  const FIGURES_MS = 15000; // what is filtered by figures is read again this often

  const { follow, placeOf, fetched, morph, fill, sign } = window.routeradminLink;
  const order = window.routeradminOrder;
  const board = () => document.getElementById("live-board");

  // Readings ------------------------------------------------------------------------

  async function read(after) {
    const headers = { "HX-Request": "true", "HX-Target": "div#live-board", "Routeradmin-After": after };
    const page = await fetched(location.href, headers);
    const fresh = page.getElementById("live-board");
    if (!fresh) throw new Error("no board");
    sign(fresh);
    waitingFor.clear();
    const shape = (root) => [...root.querySelectorAll("[data-row], .group")].map((e) => e.id).sort().join();
    const same = shape(fresh) === shape(board());
    if (order.busy()) {
      standStill(fresh);
      // Read anew when rows may move: until then frames go on, and nothing must go backwards.
      order.hold(same ? null : () => link.read());
    } else {
      order.hold(null);
      replace(fresh);
    }
    order.settle(false);
    document.dispatchEvent(new CustomEvent("routeradmin:read"));
    return placeOf(fresh);
  }

  function replace(fresh) {
    for (const group of fresh.querySelectorAll("details.group")) {
      const present = document.getElementById(group.id);
      if (present?.matches("details")) group.open = present.open;
    }
    const current = document.querySelector("[data-row][data-current]")?.id;
    if (current) fresh.querySelector(`[id="${current}"]`)?.setAttribute("data-current", "");
    morph(board(), fresh);
  }

  // Rows stand still while someone points at them: only their values and names are new.
  function standStill(fresh) {
    fill(fresh, board());
    for (const row of fresh.querySelectorAll("[data-row]")) {
      const [from, to] = [row, document.getElementById(row.id)].map((r) => r?.querySelector(".who-cell"));
      if (to && from.textContent !== to.textContent) to.innerHTML = from.innerHTML;
    }
    for (const title of fresh.querySelectorAll(".group .title")) {
      const present = document.getElementById(title.closest(".group").id)?.querySelector(".title");
      if (present) present.textContent = title.textContent;
    }
  }

  // Candidates that the page does not show and now should, or the other way round -----

  const FIGURES = ["used", "failing"];

  function admits(one) {
    const { state, provider, route, text } = board().dataset;
    const words = [one.id, one.provider, ...one.routes].join("\n").toLowerCase();
    return (state === "active" ? one.active > 0 : !state || FIGURES.includes(state) || one.state === state)
      && (!provider || one.provider === provider)
      && (!route || one.routes.includes(route))
      && (!text || words.includes(text.toLowerCase()));
  }

  const RANKS = [...document.getElementById("f-state").options].map((option) => option.value);

  // Of those beyond the rows that are shown, only what is worse than one of them comes forward.
  function wanted(one) {
    if (!admits(one)) return false;
    if (board().dataset.state || !board().querySelector("[data-beyond]")) return true;
    const shown = [...board().querySelectorAll("[data-row] [data-rank]")].map((e) => Number(e.dataset.rank));
    return RANKS.indexOf(one.state) - 1 < Math.max(...shown);
  }

  const waitingFor = new Map(); // ids that came or went and are not read yet, and since when
  function place(one) {
    const here = Boolean(document.querySelector(`[data-row][data-name="${CSS.escape(one.id)}"]`));
    if (here === (here ? admits(one) : wanted(one))) waitingFor.delete(one.id); // it went back meanwhile
    else if (!waitingFor.has(one.id)) waitingFor.set(one.id, Date.now());
  }

  let readAt = 0;
  let reading = null;
  function readSoon(process) {
    const since = Math.min(...waitingFor.values());
    reading ??= setTimeout(() => {
      reading = null;
      if (!waitingFor.size || link.paused || document.hidden) return;
      if (Math.min(...waitingFor.values()) > Date.now() - SETTLE_MS) { // those before it went back
        readSoon(process);
        return;
      }
      readAt = Date.now();
      link.read(`${process}:${link.place.seq}`);
    }, Math.max(0, since + SETTLE_MS - Date.now(), readAt + REREAD_MS - Date.now()));
  }

  setInterval(() => {
    if (FIGURES.includes(board().dataset.state) && !link.paused && !document.hidden) link.read();
  }, FIGURES_MS);

  function showErrors(share) {
    const figure = document.querySelector("[data-errors]");
    if (figure) figure.textContent = share === null ? "–" : `${(100 * share).toFixed(1)} %`;
  }

  // Frames ------------------------------------------------------------------------

  const link = follow({
    place: placeOf(board()),
    read,
    heard(frame) {
      if (frame.beats) {
        window.routeradminBeats(frame.beats);
        showErrors(frame.error_share);
      }
      for (const one of frame.moved ?? []) place(one);
      if (waitingFor.size) readSoon(frame.process);
      if (frame.content?.includes('#tail"')) speak();
      document.dispatchEvent(new CustomEvent("routeradmin:frame", { detail: frame }));
    },
    changed() {
      order.settleSoon();
      const tail = document.getElementById("tail");
      if (tail?.children.length) document.querySelector("[data-none]")?.remove();
      while (tail && tail.children.length > 12) tail.lastElementChild.remove();
      showTitle();
    },
  });

  // Words: one summary at most every few seconds, of state changes only -------------

  let spokenAt = 0;
  let speaking = null;
  function speak() {
    speaking ??= setTimeout(() => {
      speaking = null;
      spokenAt = Date.now();
      const figures = ["cooling", "draining", "needs-attention", "unhealthy"]
        .map((state) => document.querySelector(`[data-cell="sum-${state}"]`)?.closest(".figure"))
        .map((f) => [f?.querySelector(".value")?.textContent.trim(), f?.querySelector(".name")?.textContent])
        .filter(([n]) => n && n !== "0")
        .map((pair) => pair.join(" "));
      const said = figures.join(", ") || "nothing is cooling or needs attention";
      const place = document.getElementById("spoken");
      if (place.textContent !== said) place.textContent = said;
    }, Math.max(500, spokenAt + SPEAK_MS - Date.now()));
  }

  // What needs a person is told by the tab too: in the title and by another icon.
  const title = document.title;
  const icon = document.querySelector('link[rel="icon"]');
  const calmIcon = icon.href;
  function showTitle() {
    const wrong = ["needs-attention", "unhealthy"]
      .map((state) => Number.parseInt(document.querySelector(`[data-cell="sum-${state}"]`)?.textContent, 10) || 0)
      .reduce((sum, n) => sum + n, 0);
    const wanted = wrong ? `(${wrong}) ${title}` : title;
    if (document.title !== wanted) document.title = wanted;
    const shown = wrong ? icon.dataset.alarm : calmIcon;
    if (icon.href !== new URL(shown, location.href).href) icon.href = shown;
  }

  showTitle();
});
