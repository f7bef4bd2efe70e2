// Small manners of every page: focus after a refused form, menus that close, toasts that leave,
// and keys for people who prefer them.
"use strict";

(() => {
  const TOAST_MS = 10000;

  // Forms: after a refusal the first wrong field has the focus.
  function focusFirstError(root) {
    const wrong = root.querySelector?.('[aria-invalid="true"]');
    if (wrong) wrong.focus();
    else root.querySelector?.("[data-summary]")?.focus();
  }

  document.addEventListener("DOMContentLoaded", () => focusFirstError(document));
  document.addEventListener("htmx:after:swap", (event) => {
    const target = event.detail?.ctx?.target;
    if (target instanceof Element && target.matches?.("form, [data-form]")) {
      focusFirstError(document.getElementById(target.id) ?? document);
    }
    keepFocus();
    window.routeradminTime.tick();
    for (const toast of document.querySelectorAll(".toast:not([data-timed])")) leaveLater(toast);
  });

  // Toasts stay while they are read: with the pointer or the focus in them.
  function leaveLater(toast) {
    toast.dataset.timed = "1";
    const leave = () => {
      if (toast.matches(":hover, :focus-within") || toast.querySelector("details[open]")) {
        setTimeout(leave, 2000);
      } else toast.remove();
    };
    setTimeout(leave, TOAST_MS);
  }

  // Whoever came into a toast by key is brought back to where they were when it goes.
  let cameFrom = null;
  document.addEventListener("focusin", (event) => {
    if (!event.target.closest?.("#toasts")) cameFrom = event.target;
  });

  function dismiss(toast) {
    const within = toast.contains(document.activeElement);
    toast.remove();
    if (within) (cameFrom?.isConnected ? cameFrom : document.getElementById("main")).focus();
  }

  // What gets the focus by key must not lie under a toast.
  document.addEventListener("focusin", (event) => {
    const toasts = document.getElementById("toasts");
    if (!toasts?.children.length || toasts.contains(event.target)) return;
    if (!event.target.matches?.(":focus-visible")) return;
    const [over, box] = [toasts, event.target].map((one) => one.getBoundingClientRect());
    if (box.bottom > over.top && box.right > over.left) scrollBy(0, box.bottom - over.top + 12);
  });

  // An answer that takes the place of what was pressed has the focus in its own place: on the
  // button of the same name, on the first one of a toast.
  let pressed = null;
  document.addEventListener("htmx:before:request", (event) => {
    const form = event.target.closest?.("form");
    const button = form?.contains(document.activeElement) ? document.activeElement.closest("button") : null;
    pressed = button && { name: button.name, value: button.value, toast: Boolean(button.closest(".toast")) };
  });

  function keepFocus() {
    if (!pressed || document.activeElement !== document.body) return;
    const { name, value, toast } = pressed;
    const same = [...document.querySelectorAll("#draft button")]
      .find((one) => one.name === name && one.value === value);
    (toast ? document.querySelector(".toast button") : same)?.focus();
    pressed = null;
  }

  // A request that met no answer, or one that is no fragment, must not go unnoticed.
  function complain(text) {
    const toasts = document.getElementById("toasts");
    if (!toasts) return;
    const toast = document.createElement("div");
    toast.className = "toast error";
    toast.textContent = text;
    toasts.prepend(toast);
    leaveLater(toast);
  }

  // Whole pages do not belong into a part of one: a sign-in page leads there, an error is told.
  document.addEventListener("htmx:before:swap", (event) => {
    const answer = event.detail?.ctx?.response;
    if (!answer?.raw) return;
    if (new URL(answer.raw.url).pathname === "/login") {
      event.preventDefault();
      location.reload();
    } else if (answer.status >= 400 && answer.status !== 409 && answer.status !== 422) {
      event.preventDefault();
      complain(answer.status === 503
        ? "Not saved: the database cannot be reached. What you typed is still here; try again."
        : answer.status === 404
        ? "It is not there any more: somebody deleted it. What you typed is still here."
        : answer.status === 403
        ? "Not allowed: your role lacks this right, or the page is too old. Load it again."
        : `The server answered ${answer.status}. Load the page again to see what is in force.`);
    }
  });

  document.addEventListener("htmx:error", (event) => {
    if (event.detail?.ctx?.response) return; // it did answer
    complain("The server did not answer. Nothing is known to have changed; try again.");
  });

  // Menus: one open at a time, closed by Escape, by a click elsewhere, and after an action.
  function closeMenus(except) {
    for (const menu of document.querySelectorAll("details[data-menu][open]")) {
      if (menu !== except) menu.open = false;
    }
  }

  document.addEventListener("click", (event) => {
    closeMenus(event.target.closest?.("details[data-menu]"));
    if (event.target.closest?.("[data-dismiss]")) dismiss(event.target.closest(".toast"));
  });
  document.addEventListener("focusout", (event) => {
    const menu = event.target.closest?.("details[data-menu]");
    if (menu && event.relatedTarget && !menu.contains(event.relatedTarget)) menu.open = false;
  });
  document.addEventListener("htmx:after:request", (event) => {
    const menu = event.target.closest?.("details[data-menu]");
    if (!menu?.open) return; // pressed by a key of the row: the focus is there and stays
    menu.open = false;
    menu.querySelector("summary")?.focus();
  });

  // Ticking with shift ticks everything in between.
  let ticked = null;
  document.addEventListener("click", (event) => {
    if (!event.target.matches?.("input.tick")) return;
    const all = [...document.querySelectorAll("input.tick")];
    if (event.shiftKey && ticked) {
      const [from, to] = [all.indexOf(ticked), all.indexOf(event.target)].sort((a, b) => a - b);
      for (const box of all.slice(from, to + 1)) box.checked = event.target.checked;
    }
    ticked = event.target;
  });

  // Keys, off while typing and with a modifier held. Which there are is said by the page's own list
  // of them, so that list and keys cannot differ.
  const TYPED = 'input:not([type="checkbox"], [type="radio"]), select, textarea, [contenteditable]';
  const typing = (node) => node.closest?.(TYPED);
  const ROW = "[data-row], table.list tbody tr";

  function rows() {
    return [...document.querySelectorAll(ROW)].filter((row) => row.checkVisibility?.() ?? true);
  }

  function mark(row) {
    for (const one of document.querySelectorAll("[data-current]")) one.removeAttribute("data-current");
    row.setAttribute("data-current", "");
  }

  // The row that a key is for is the one with the focus, however the focus came there.
  document.addEventListener("focusin", (event) => {
    const row = event.target.closest?.(ROW);
    if (row && !row.hasAttribute("data-current")) mark(row);
  });

  function step(by) {
    const all = rows();
    if (!all.length) return;
    const here = all.findIndex((row) => row.hasAttribute("data-current"));
    const next = all[Math.min(all.length - 1, Math.max(0, here + by))] ?? all[0];
    mark(next);
    next.querySelector("a")?.focus({ preventScroll: true });
    next.scrollIntoView({ block: "nearest" });
  }

  // A key reaches no further than the pointer: what is out of reach on a stale page stays so.
  function buttonOf(action) {
    const button = document.querySelector(`[data-row][data-current] button[name="action"][value="${action}"]`);
    return button?.closest("[inert]") ? null : button;
  }

  const press = (action) => buttonOf(action)?.click();

  // What costs something is shown with its cost, not done by one key.
  function reveal(action) {
    const button = buttonOf(action);
    if (!button) return;
    button.closest("details[data-menu]").open = true;
    button.focus();
  }

  function tick(event) {
    const box = document.querySelector("tr[data-current] input.tick");
    box?.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, shiftKey: event.shiftKey }));
  }

  function explain() {
    const place = document.querySelector("[data-row][data-current]") ?? document;
    const link = place.querySelector("a[data-explain]");
    if (link) location.assign(link.href);
  }

  const openKeys = () => document.getElementById("keys")?.showModal();

  const ACTS = {
    search: () => document.querySelector('input[type="search"]')?.focus(),
    next: () => step(1),
    previous: () => step(-1),
    pause: () => document.getElementById("pause")?.click(),
    drain: () => press("drain"),
    clear: () => press("clear"),
    probe: () => reveal("probe"),
    tick,
    undo: () => document.querySelector("[data-undo]")?.click(),
    explain,
    go: (event, listed) => location.assign(listed.dataset.href),
    help: openKeys,
  };
  const SECOND_KEY_MS = 1500;
  let first = ""; // of two keys
  let until = 0; // when the second has to come

  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      const toast = document.activeElement.closest(".toast");
      const menu = document.querySelector("details[data-menu][open]");
      closeMenus();
      menu?.querySelector("summary")?.focus();
      if (toast) dismiss(toast);
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || event.key === "Shift") return;
    if (typing(event.target) || document.querySelector("dialog[open]")) return;
    if (localStorage.getItem("routeradmin-keys") === "off") return;
    const all = [...document.querySelectorAll("#keys [data-act]")];
    const listed = (keys) => all.find((one) => one.dataset.keys === keys);
    const found = (Date.now() < until && listed(`${first} ${event.key}`)) || listed(event.key);
    [first, until] = ["", 0];
    if (found) {
      event.preventDefault();
      ACTS[found.dataset.act](event, found);
    } else if (all.some((one) => one.dataset.keys.startsWith(`${event.key} `))) {
      [first, until] = [event.key, Date.now() + SECOND_KEY_MS];
    }
  });

  document.addEventListener("DOMContentLoaded", () => {
    const boxes = [...document.querySelectorAll("[data-keys-on]")];
    const show = () => {
      for (const box of boxes) box.checked = localStorage.getItem("routeradmin-keys") !== "off";
    };
    for (const box of boxes) {
      box.addEventListener("change", () => {
        localStorage.setItem("routeradmin-keys", box.checked ? "on" : "off");
        show();
      });
    }
    show();
    for (const button of document.querySelectorAll("[data-open-keys]")) {
      button.hidden = false;
      button.addEventListener("click", openKeys);
    }
  });
})();

// What is worth copying has a button for it, where the browser allows that.
// It may come with a part that is put in later.
if (navigator.clipboard) {
  document.documentElement.dataset.copies = ""; // without it the style sheet hides the buttons
  document.addEventListener("click", async (event) => {
    const button = event.target.closest?.("[data-copy]");
    if (!button) return;
    const from = button.dataset.copy ? document.querySelector(button.dataset.copy)
      : button.closest(".curl").querySelector("pre");
    await navigator.clipboard.writeText(from.textContent);
    const name = button.dataset.name ??= button.textContent;
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = name; }, 2000);
  });
}

// A file may be dropped anywhere on the form that takes it.
document.addEventListener("DOMContentLoaded", () => {
  for (const place of document.querySelectorAll("form:has([data-drop])")) {
    const mark = (is) => place.classList.toggle("dropping", is);
    place.addEventListener("dragover", (event) => {
      if (![...event.dataTransfer.types].includes("Files")) return;
      event.preventDefault();
      mark(true);
    });
    place.addEventListener("dragleave", () => mark(false));
    place.addEventListener("drop", (event) => {
      mark(false);
      if (!event.dataTransfer.files.length) return;
      event.preventDefault();
      place.querySelector("[data-drop] input").files = event.dataTransfer.files;
    });
  }
});
