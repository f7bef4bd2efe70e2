// A menu opens where there is room for it: upwards near the bottom of the screen, to the
// other side near an edge; what is longer than the screen scrolls.
"use strict";

(() => {
  const EDGE = 8; // pixels to the edge of the screen

  function place(menu) {
    const sheet = menu.querySelector(".sheet");
    if (!sheet) return;
    for (const name of ["up", "start", "end"]) delete menu.dataset[name];
    sheet.classList.remove("scrolls");
    const [button, box] = [menu.getBoundingClientRect(), sheet.getBoundingClientRect()];
    const [above, below] = [button.top, innerHeight - button.bottom];
    if (box.bottom > innerHeight - EDGE && above > below) menu.dataset.up = "";
    if (box.left < EDGE) menu.dataset.start = "";
    if (box.right > document.documentElement.clientWidth - EDGE) menu.dataset.end = "";
    sheet.classList.toggle("scrolls", box.height > Math.max(above, below) - EDGE);
  }

  document.addEventListener("toggle", (event) => {
    if (event.target.matches?.("details[data-menu][open]")) place(event.target);
  }, { capture: true });
})();
