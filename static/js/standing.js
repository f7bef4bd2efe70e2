// One deployment's page: its live cells follow the socket that the live page uses. When frames are
// missing the section is read again; what someone has opened or typed in it stays.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const section = () => document.getElementById("now");
  const label = document.getElementById("link-state");
  const time = window.routeradminTime;
  const STALE_MS = 10000;
  let heard = Date.now();
  let state = "connecting";
  let place = { epoch: section().dataset.epoch, seq: Number(section().dataset.seq) };

  function show() {
    const silent = Date.now() - heard;
    const stale = silent > STALE_MS;
    const text = stale ? `stale for ${Math.round(silent / 1000)} s` : state;
    label.dataset.state = stale ? "stale" : state;
    if (label.textContent !== text) label.textContent = text;
    document.body.dataset.stale = String(stale);
    for (const cell of section().querySelectorAll(".act")) cell.inert = stale;
  }

  async function readAgain() {
    const answer = await fetch(location.href, { cache: "no-store", redirect: "manual" });
    if (!answer.ok) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("now");
    if (!fresh) return;
    for (const cell of fresh.querySelectorAll("[data-cell]")) {
      const present = section().querySelector(`[data-cell="${cell.dataset.cell}"]`);
      if (present) present.innerHTML = cell.innerHTML;
    }
    heard = Date.now();
    time.measure(fresh.dataset.now);
    time.tick();
  }

  const mine = (html) =>
    html.replace(/<hx-partial hx-target="([^"]+)"[^]*?<\/hx-partial>/g, (piece, selector) =>
      section().querySelector(selector) ? piece : "");

  document.addEventListener("htmx:ws:before:message:incoming", (event) => {
    const frame = JSON.parse(event.detail.message.data);
    time.measure(frame.now);
    heard = Date.now();
    state = "live";
    const missing = frame.epoch !== place.epoch
      || (frame.kind === "hello" ? frame.seq > place.seq : frame.previous_seq !== place.seq);
    place = { epoch: frame.epoch, seq: frame.seq };
    if (missing) event.detail.waitUntil(readAgain().catch(() => {}));
    if (frame.content !== undefined) {
      frame.content = mine(frame.content);
      event.detail.message.data = JSON.stringify(frame);
    }
    show();
  });
  document.addEventListener("htmx:ws:after:message:incoming", time.tick);
  document.addEventListener("htmx:ws:close", (event) => {
    state = [4401, 4403].includes(event.detail.code) ? "closed" : "reconnecting";
    show();
  });
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) readAgain().catch(() => {});
  });
  setInterval(show, 1000);
});
