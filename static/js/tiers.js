// The tier editor: rows are dragged, moved by buttons or by Alt with an arrow, or numbered; a blank
// row comes whenever the last one is used.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const rowsOf = (list) => [...list.children];
  const number = (row) => row.querySelector('input[type="number"]');
  const tier = (row) => Number(number(row).value) || 1;
  const chosen = (row) => row.querySelector("[data-deployment]").value;
  const used = (list) => rowsOf(list).filter(chosen);
  const changed = (list) => number(list.firstElementChild).dispatchEvent(new Event("change", { bubbles: true }));

  // Rows by tier, blanks last; the first row of a tier is marked so that tiers can be seen.
  function settle(list) {
    const rows = rowsOf(list).sort((a, b) => !chosen(a) - !chosen(b) || tier(a) - tier(b));
    if (rows.some((row, n) => row !== list.children[n])) list.append(...rows);
    rows.forEach((row, n) => {
      row.classList.toggle("starts", n > 0 && tier(row) !== tier(rows[n - 1]));
      row.classList.toggle("blank", !chosen(row));
    });
    warnOfUnused();
  }

  // Fallback is off unless it is asked for: then whatever stands in a later tier is idle.
  function warnOfUnused() {
    const allowed = document.querySelector('[name="fallback_enabled"]');
    for (const list of document.querySelectorAll("[data-tiers]")) {
      const note = list.parentElement.querySelector("[data-unused-tiers]");
      if (note && allowed) note.hidden = allowed.checked || new Set(used(list).map(tier)).size < 2;
    }
  }

  // Tiers 1, 2, 3 … without a gap, whatever fractions a drop made.
  function renumber(list) {
    const numbers = [...new Set(used(list).map(tier))].sort((a, b) => a - b);
    for (const row of used(list)) number(row).value = String(numbers.indexOf(tier(row)) + 1);
    for (const row of rowsOf(list).filter((one) => !chosen(one))) number(row).value = String(numbers.length + 1);
  }

  function announce(row) {
    const list = row.closest("[data-tiers]");
    const last = Math.max(...used(list).map(tier));
    const spoken = document.getElementById("tiers-spoken");
    if (spoken) spoken.textContent = `${chosen(row) || "The empty row"} is now in tier ${tier(row)} of ${last}.`;
  }

  function move(row, by) {
    const list = row.closest("[data-tiers]");
    number(row).value = String(Math.max(1, tier(row) + by));
    settle(list);
    announce(row);
    changed(list);
  }

  // What is no target any more is an empty row, which stands with the others at the end.
  function remove(row) {
    const list = row.closest("[data-tiers]");
    const name = chosen(row);
    const after = row.nextElementSibling ?? row;
    row.querySelector("[data-deployment]").value = "";
    row.querySelector('input[type="hidden"]').value = "";
    settle(list);
    renumber(list);
    after.querySelector("[data-deployment]").focus();
    const spoken = document.getElementById("tiers-spoken");
    if (spoken) spoken.textContent = `${name} is no target any more.`;
    changed(list);
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("[data-tier-by], [data-tier-remove]");
    if (!button) return;
    event.preventDefault(); // without this script the server does it
    const row = button.closest("li");
    if (button.dataset.tierBy) {
      move(row, Number(button.dataset.tierBy));
      button.focus();
    } else remove(row);
  });

  document.addEventListener("keydown", (event) => {
    if (!event.altKey || !["ArrowUp", "ArrowDown"].includes(event.key)) return;
    const row = event.target.closest?.("[data-tiers] li");
    if (!row) return;
    event.preventDefault();
    move(row, event.key === "ArrowUp" ? -1 : 1);
    event.target.focus();
  });

  document.addEventListener("change", (event) => {
    const list = event.target.closest?.("[data-tiers]");
    if (event.target.name === "fallback_enabled") warnOfUnused();
    if (!list) return;
    if (event.target.matches("[data-deployment]") && chosen(list.lastElementChild)) {
      const blank = list.lastElementChild.cloneNode(true);
      blank.querySelector('input[type="hidden"]').value = "";
      blank.querySelector("[data-deployment]").value = "";
      list.append(blank);
    }
    settle(list);
  });

  // Dragging: onto a row is into its tier, above or below it is a tier of its own there.
  let dragged = null;

  function zone(row, event) {
    const box = row.getBoundingClientRect();
    const at = (event.clientY - box.top) / box.height;
    return at < 0.3 ? "before" : at > 0.7 ? "after" : "into";
  }

  function unmark() {
    for (const row of document.querySelectorAll("[data-drop-zone]")) delete row.dataset.dropZone;
  }

  document.addEventListener("dragstart", (event) => {
    if (!event.target.matches?.("[data-grip]")) return;
    dragged = event.target.closest("li");
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", chosen(dragged));
    event.dataTransfer.setDragImage(dragged, 12, 12);
    dragged.classList.add("dragged");
  });

  document.addEventListener("dragover", (event) => {
    const row = dragged && event.target.closest?.("[data-tiers] li");
    unmark();
    if (!row || row.parentElement !== dragged.parentElement) return;
    event.preventDefault();
    row.dataset.dropZone = zone(row, event);
  });

  document.addEventListener("drop", (event) => {
    const row = dragged && event.target.closest?.("[data-tiers] li");
    if (!row || row.parentElement !== dragged.parentElement) return;
    event.preventDefault();
    if (row === dragged) return;
    const by = { before: -0.5, into: 0, after: 0.5 }[zone(row, event)];
    const list = row.parentElement;
    number(dragged).value = String(tier(row) + by);
    renumber(list);
    settle(list);
    announce(dragged);
    changed(list);
  });

  document.addEventListener("dragend", () => {
    dragged?.classList.remove("dragged");
    dragged = null;
    unmark();
  });

  function ready() {
    for (const control of document.querySelectorAll("[data-grip]")) control.hidden = false;
    for (const list of document.querySelectorAll("[data-tiers]")) settle(list);
  }

  ready();
  document.addEventListener("htmx:after:swap", ready);
});
