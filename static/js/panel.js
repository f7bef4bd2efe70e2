// The panel beside the live list: one candidate, opened by Enter or a click, moved by j and k,
// closed by Escape. Its cells follow the frames as the rows' do; the rest is read again.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const PAST_MS = 1500; // events and turns are written a moment after they happened
  const QUIET_MS = 5000; // traffic alone is no reason to read again sooner
  const MOVE_MS = 120; // rows passed over quickly are not opened

  const { fetched, morph } = window.routeradminLink;
  const place = document.getElementById("panel-place");
  const list = document.querySelector(".beside-list");
  const covers = window.matchMedia("(width < 60rem)");
  const panel = () => document.getElementById("panel");
  const shown = () => panel()?.dataset.panel;
  const rowOf = (uid) => {
    const rows = [...document.querySelectorAll(`[data-row][data-name="${CSS.escape(uid)}"]`)];
    return rows.find((row) => row.hasAttribute("data-current")) ?? rows[0];
  };

  function address(uid) {
    const url = new URL(location.href);
    if (uid) url.searchParams.set("panel", uid);
    else url.searchParams.delete("panel");
    return url;
  }

  async function fresh(uid) {
    const wanted = address(uid);
    wanted.pathname = "/panel";
    return (await fetched(wanted, { "HX-Request": "true", "HX-Target": "aside#panel" })).getElementById("panel");
  }

  // What the rows show is newer than a panel that was under way.
  function catchUp() {
    for (const cell of panel().querySelectorAll("[data-cell]")) {
      const newer = list.querySelector(`[data-cell="${cell.dataset.cell}"]`);
      if (newer) cell.innerHTML = newer.innerHTML;
    }
    window.routeradminTime.tick();
  }

  // On a narrow screen the panel covers the page: what is under it is out of reach.
  function cover() {
    const hidden = Boolean(panel()) && covers.matches;
    for (const part of [list, document.querySelector("header.top")]) part.inert = hidden;
    document.body.classList.toggle("covered", hidden);
  }

  function mark(uid) {
    for (const row of document.querySelectorAll("[data-row][data-current]")) {
      if (row.dataset.name !== uid) row.removeAttribute("data-current");
    }
    if (uid) rowOf(uid)?.setAttribute("data-current", "");
  }

  let asked = null; // the candidate that was asked for last
  async function open(uid, { focus = false, push = false } = {}) {
    asked = uid;
    let found;
    try {
      found = await fresh(uid);
    } catch (problem) {
      if (asked === uid) location.assign(address(uid)); // the page says what is wrong
      return;
    }
    if (asked !== uid || !found) return;
    htmx.swap({ sourceElement: place, target: place, swap: "innerHTML", text: found.outerHTML });
    history[push ? "pushState" : "replaceState"](null, "", address(uid));
    mark(uid);
    catchUp();
    cover();
    if (focus || covers.matches) document.getElementById("panel-title").focus();
  }

  function close({ keep = false } = {}) {
    const uid = shown();
    asked = null;
    if (!uid) return;
    const back = place.contains(document.activeElement) || document.activeElement === document.body;
    place.replaceChildren();
    cover();
    if (!keep) history.replaceState(null, "", address(""));
    if (back) rowOf(uid)?.querySelector("a[data-open]")?.focus();
  }

  // Opening and closing ---------------------------------------------------------------

  const CONTROL = "a, button, input, select, label, summary, details, form";

  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    if (event.target.closest?.("[data-close-panel]")) {
      event.preventDefault();
      close();
      return;
    }
    const row = event.target.closest?.("[data-row]");
    const link = event.target.closest?.("a[data-open]");
    const control = event.target.closest?.(CONTROL); // the group around the row is one too
    if (!row || (!link && row.contains(control)) || String(getSelection())) return;
    event.preventDefault();
    for (const other of document.querySelectorAll("[data-row][data-current]")) other.removeAttribute("data-current");
    row.setAttribute("data-current", "");
    // Enter on the link is a click without a pointer: the reader goes along.
    open(row.dataset.name, { focus: event.detail === 0, push: !panel() });
  });

  // j, k and the focus choose a row; an open panel goes along, also where it covers the rows.
  let moving = null;
  new MutationObserver(() => {
    const row = list.querySelector("[data-row][data-current]");
    if (!row || !panel() || row.dataset.name === (asked ?? shown())) return;
    clearTimeout(moving);
    moving = setTimeout(() => { if (panel() && row.hasAttribute("data-current")) open(row.dataset.name); }, MOVE_MS);
  }).observe(list, { subtree: true, attributes: true, attributeFilter: ["data-current"] });

  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !panel() || event.defaultPrevented) return;
    // What lies over the panel is closed first.
    if (document.querySelector("dialog[open], details[data-menu][open], [popover]:popover-open")) return;
    if (document.activeElement.closest(".toast")) return;
    event.preventDefault();
    close();
  }, { capture: true });

  window.addEventListener("popstate", () => {
    const uid = new URL(location.href).searchParams.get("panel");
    if (uid) open(uid);
    else close({ keep: true });
  });
  covers.addEventListener("change", cover);

  // Updates ---------------------------------------------------------------------------

  let due = null; // when its past is read again
  let timer = null;
  let readAt = 0;
  function readPast(wait) {
    if (!panel()) return;
    const at = Math.max(Date.now() + wait, readAt + PAST_MS);
    if (due !== null && due <= at) return;
    clearTimeout(timer);
    due = at;
    timer = setTimeout(async () => {
      due = null;
      readAt = Date.now();
      const uid = shown();
      if (!uid || document.hidden) return;
      const found = await fresh(uid).catch(() => null);
      if (!found || shown() !== uid) return;
      const [past, now] = [document.getElementById("panel-past"), found.querySelector("#panel-past")];
      if (past && now) morph(past, now);
      else if (panel()) morph(panel(), found);
      window.routeradminTime.tick();
    }, Math.max(0, at - Date.now()));
  }

  document.addEventListener("routeradmin:frame", (event) => {
    const cell = place.querySelector("[data-cell$='-state']")?.dataset.cell.replace(/-state$/, "");
    const said = event.detail.content ?? "";
    if (!cell) return;
    if (said.includes(`[data-cell=${cell}-state]`) || said.includes(`[data-cell=${cell}-why]`)) readPast(PAST_MS);
    else if (said.includes(`[data-cell=${cell}-`)) readPast(QUIET_MS);
  });
  document.addEventListener("routeradmin:read", () => {
    if (!panel()) return;
    mark(shown());
    catchUp();
    readPast(0);
  });

  if (panel()) {
    mark(shown());
    cover();
  }
});
