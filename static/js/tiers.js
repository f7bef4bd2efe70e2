// The tier editor: buttons beside the numbers, and a blank row whenever the last one is used.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  function showButtons() {
    for (const button of document.querySelectorAll("[data-tier-by]")) button.hidden = false;
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("[data-tier-by]");
    if (!button) return;
    const number = button.closest("li").querySelector('input[type="number"]');
    number.value = String(Math.max(1, Number(number.value) + Number(button.dataset.tierBy)));
    sortRows(button.closest("[data-tiers]"));
    button.focus();
  });

  // Alt with an arrow does the same as the buttons.
  document.addEventListener("keydown", (event) => {
    if (!event.altKey || !["ArrowUp", "ArrowDown"].includes(event.key)) return;
    const row = event.target.closest?.("[data-tiers] li");
    if (!row) return;
    event.preventDefault();
    row.querySelector(`[data-tier-by="${event.key === "ArrowUp" ? -1 : 1}"]`).click();
    event.target.focus();
  });

  function sortRows(list) {
    const tier = (row) => Number(row.querySelector('input[type="number"]').value);
    const used = (row) => (row.querySelector("[data-deployment]").value ? 0 : 1);
    const rows = [...list.children].sort((a, b) => used(a) - used(b) || tier(a) - tier(b));
    list.append(...rows);
  }

  document.addEventListener("change", (event) => {
    const list = event.target.closest?.("[data-tiers]");
    if (!list || !event.target.matches("[data-deployment]")) return;
    const last = list.lastElementChild;
    if (!last.querySelector("[data-deployment]").value) return;
    const blank = last.cloneNode(true);
    blank.querySelector('input[type="hidden"]').value = "";
    blank.querySelector("[data-deployment]").value = "";
    list.append(blank);
  });

  showButtons();
  document.addEventListener("htmx:after:swap", showButtons);
});
