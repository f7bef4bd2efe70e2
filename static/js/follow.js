// Pages other than the live one that show state: their cells follow the same socket. When frames
// are missing or the catalog changed, the page is read again and the parts that may have changed
// (`data-fresh`) become what they are now. Lists of what happened (`data-tail`, in milliseconds how
// often at most) are read again when something did, and stand still under the pointer. Nothing is
// read while a question is open: with its answer the page may be one that is not there any more. A
// page whose object is gone says so and reads no more.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const { follow, placeOf, fetched, morph, fill } = window.routeradminLink;
  const here = document.getElementById("place");
  if (!here) return;
  const applyButton = document.getElementById("apply-order");
  const tail = () => document.querySelector("[data-tail]");
  let held = false; // there is more to show as soon as nobody points at the list
  let due = false; // it is read as soon as the question is closed

  const typed = (part) => [...part.querySelectorAll("input:not([type=hidden]), textarea")]
    .some((field) => field.type === "checkbox" ? field.checked !== field.defaultChecked
      : field.value !== field.defaultValue);
  const inUse = (part) => typed(part) || Boolean(part.querySelector("details[data-menu][open]"));
  const pointedAt = (part) => part.matches(":hover") || part.contains(document.activeElement);

  function renew(part, now) {
    const current = part.querySelector("[data-key][data-current]")?.dataset.key;
    morph(part, now);
    if (!current) return;
    document.querySelector(`[data-key="${CSS.escape(current)}"]`)?.setAttribute("data-current", "");
  }

  async function read(force) {
    const page = await fetched(location.href);
    const fresh = page.getElementById("place");
    if (!fresh) throw new Error("no place");
    for (const part of document.querySelectorAll("[data-fresh]")) {
      const now = page.getElementById(part.id);
      if (!now) part.replaceChildren();
      else if (part === tail() && pointedAt(part) && !force) hold(now);
      else if (inUse(part)) fill(now, part);
      else renew(part, now);
    }
    fill(page, document);
    if (applyButton && !(tail() && pointedAt(tail()) && !force)) applyButton.hidden = true;
    return placeOf(fresh);
  }

  async function readUnlessAsked() {
    due = Boolean(document.querySelector("#ask[open]"));
    return due ? null : read(false);
  }
  document.addEventListener("close", () => { if (due) link.read(); }, { capture: true });

  // Rows would move under the pointer: the reader says when.
  function hold(now) {
    const first = (root) => root.querySelector("[data-key]")?.dataset.key;
    held = true;
    if (applyButton) applyButton.hidden = first(now) === first(tail());
  }
  setInterval(() => {
    if (!held || link.paused || pointedAt(tail())) return;
    held = false;
    link.read();
  }, 1000);

  let soon = null;
  let readAt = 0;
  function readSoon() {
    const wait = Number(tail().dataset.tail);
    soon ??= setTimeout(() => {
      soon = null;
      readAt = Date.now();
      if (!link.paused && !document.hidden) link.read();
    }, Math.max(1500, readAt + wait - Date.now()));
  }

  const link = follow({
    place: placeOf(here),
    read: readUnlessAsked,
    gone() {
      const note = document.getElementById("gone");
      if (note) note.hidden = false;
      document.querySelector(".head .buttons")?.remove(); // they lead nowhere now
    },
    heard(frame) {
      if (frame.beats) window.routeradminBeats(frame.beats);
      if (!tail() || frame.content === undefined) return;
      if (tail().dataset.tail > 3000 || frame.content.includes('#tail"')) readSoon();
    },
  });

  if (applyButton) applyButton.addEventListener("click", () => read(true).catch(() => {}));
});
