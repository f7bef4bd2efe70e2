// The order of the live page's rows and groups: kept as the address wants it, and never changed
// under the pointer or while a row has the focus, a menu or a dialog is open.
"use strict";

window.routeradminOrder = (() => {
  const SETTLE_MS = 500;
  const FIGURES_SETTLE_MS = 5000; // by figures that move all the time

  const board = () => document.getElementById("live-board");
  const sort = () => board().dataset.sort;
  const number = (row, cell) => Number(row.querySelector(`[data-cell$="-${cell}"] [data-n]`)?.dataset.n ?? 0);
  const rankOf = (row) => Number(row.querySelector("[data-rank]")?.dataset.rank ?? 99);
  const compare = (x, y) => (x < y ? -1 : Number(x > y));

  const FIRST = {
    failed: rankOf,
    name: () => 0,
    active: (row) => -number(row, "active"),
    requests: (row) => -number(row, "rpm"),
    latency: (row) => -number(row, "latency"),
  };

  const byPlace = (a, b) =>
    FIRST[sort()](a) - FIRST[sort()](b) || compare(a.dataset.name, b.dataset.name);

  function disordered() {
    return [...document.querySelectorAll("[data-board]")].filter((list) => {
      const rows = [...list.children];
      return rows.some((row, i) => i > 0 && byPlace(rows[i - 1], row) > 0);
    });
  }

  // Groups: the worst row's rank where the failed come first, those without a route last, the title.
  function byGroup(a, b) {
    const worst = (group) => sort() !== "failed" ? 0
      : Math.min(99, ...[...group.querySelectorAll("[data-rank]")].map((e) => Number(e.dataset.rank)));
    const loose = (group) => Number("loose" in group.dataset);
    return worst(a) - worst(b) || loose(a) - loose(b)
      || compare(a.dataset.title.toLowerCase(), b.dataset.title.toLowerCase());
  }

  const groups = () => [...board().querySelectorAll(".boards > .group")];
  const groupsMoved = () => groups().some((group, i, all) => i > 0 && byGroup(all[i - 1], group) > 0);

  function busy() {
    const place = board();
    return place.matches(":hover") || place.contains(document.activeElement)
      || Boolean(document.querySelector("details[data-menu][open], dialog[open]"));
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

  let held = null; // there are other rows or groups than those shown: how to get them

  const moved = () => Boolean(held || disordered().length || groupsMoved());

  function settle(force) {
    if (moved() && (force || !busy())) {
      const get = held;
      held = null;
      get?.();
      for (const list of disordered()) arrange(list, [...list.children].sort(byPlace));
      if (groupsMoved()) arrange(groups()[0].parentElement, groups().sort(byGroup));
    }
    document.getElementById("apply-order").hidden = !moved();
  }

  // Not with every frame: what jumps four times a second cannot be read.
  let settling = null;
  function settleSoon() {
    const wait = ["failed", "name"].includes(sort()) ? SETTLE_MS : FIGURES_SETTLE_MS;
    settling ??= setTimeout(() => { settling = null; settle(false); }, wait);
  }

  document.addEventListener("DOMContentLoaded", () => {
    document.getElementById("apply-order").addEventListener("click", () => settle(true));
  });

  return { busy, settle, settleSoon, hold(show) { held = show; } };
})();
