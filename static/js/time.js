// Times on a page: relative text, countdowns, and the viewer's own zone with UTC beside it.
// Everything is counted against the server's clock, whose offset is measured from what it sends.
"use strict";

window.routeradminTime = (() => {
  let offsetMs = null; // server minus browser; the largest seen has the least delay in it

  const now = () => Date.now() + (offsetMs ?? 0);

  function measure(serverNow) {
    const seen = Date.parse(serverNow) - Date.now();
    if (Number.isNaN(seen)) return;
    // A jump means that one of the two clocks was set: start over.
    if (offsetMs === null || seen > offsetMs || offsetMs - seen > 30000) offsetMs = seen;
  }

  function span(s) {
    if (s < 60) return `${s} s`;
    if (s < 3600) return `${Math.floor(s / 60)} min`;
    if (s < 172800) return `${Math.floor(s / 3600)} h`;
    return `${Math.floor(s / 86400)} days`;
  }

  // A clock that is a second ahead must not make a moment ago the future.
  function relative(seconds) {
    const s = Math.round(seconds);
    return s < -1 ? `in ${span(-s)}` : `${span(Math.max(0, s))} ago`;
  }

  function clock(seconds) {
    const s = Math.ceil(seconds);
    if (s <= 0) return "due";
    const [h, m, r] = [Math.floor(s / 3600), Math.floor((s % 3600) / 60), s % 60];
    const two = (n) => String(n).padStart(2, "0");
    return h ? `${h}:${two(m)}:${two(r)}` : `${m}:${two(r)}`;
  }

  const zoned = new Intl.DateTimeFormat(undefined, {
    dateStyle: "medium", timeStyle: "long",
  });
  const utc = (at) => new Date(at).toISOString().replace("T", " ").slice(0, 19) + " UTC";

  const write = (node, text) => {
    if (node.textContent !== text) node.textContent = text;
  };

  function tick() {
    if (document.hidden) return;
    const t = now();
    for (const node of document.querySelectorAll("time[data-ago]")) {
      write(node, relative((t - Date.parse(node.dateTime)) / 1000));
    }
    for (const node of document.querySelectorAll("time[data-until]")) {
      write(node, clock((Date.parse(node.dateTime) - t) / 1000));
    }
    const window_s = 60 - ((t / 1000) % 60);
    for (const node of document.querySelectorAll("[data-window-end]")) {
      write(node, `minute limits reset in ${clock(window_s)}`);
    }
  }

  // The absolute time is made when someone asks for it: with the pointer or with focus.
  function tell(event) {
    const node = event.target.closest?.("time[datetime]");
    if (!node) return;
    const at = Date.parse(node.dateTime);
    if (!Number.isNaN(at)) node.title = `${zoned.format(at)} · ${utc(at)}`;
  }

  document.addEventListener("mouseover", tell);
  document.addEventListener("focusin", tell);
  document.addEventListener("DOMContentLoaded", () => {
    const given = document.querySelector("[data-now]");
    if (given) measure(given.dataset.now);
    tick();
    setInterval(tick, 1000);
  });
  document.addEventListener("visibilitychange", tick);

  return { measure, tick, now };
})();
