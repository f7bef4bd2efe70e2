// Catalog forms while they are filled in: the server checks what was typed, problems come beside
// the fields that were left, and what would change is shown. Nothing is saved by this.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const CHECK_AFTER_MS = 500;
  const touched = new Set(); // ids of fields with a value that was changed and left
  let waiting = null;
  let running = null;

  const form = () => document.getElementById("draft");

  function copyState(fresh, field) {
    const [from, to] = [fresh, field].map((part) => part.querySelector(".errorlist"));
    to?.remove();
    if (from) field.append(document.importNode(from, true));
    const controls = [fresh, field].map((part) => [...part.querySelectorAll("input, select, textarea")]);
    controls[1].forEach((control, n) => {
      for (const name of ["aria-invalid", "aria-describedby"]) {
        const value = controls[0][n]?.getAttribute(name);
        if (value) control.setAttribute(name, value);
        else control.removeAttribute(name);
      }
    });
  }

  function showPreview(fresh) {
    const place = document.getElementById("preview");
    if (!fresh) {
      place?.setAttribute("data-outdated", "");
      return;
    }
    // It may come in above the field with the focus, which must not leave the screen for it.
    const here = document.activeElement;
    const box = here.getBoundingClientRect();
    const seen = box.bottom > 0 && box.top < innerHeight;
    const preview = document.importNode(fresh, true);
    if (place) place.replaceWith(preview);
    else form().querySelector("#reason-field").before(preview);
    if (seen && form().contains(here)) here.scrollIntoView({ block: "nearest" });
  }

  async function check() {
    running?.abort();
    running = new AbortController();
    const body = new FormData(form());
    body.set("do", "check"); // a preview that answers 200 whatever it finds
    const answer = await fetch(form().action, {
      method: "POST",
      body: new URLSearchParams(body),
      headers: { "HX-Request": "true" },
      signal: running.signal,
    }).catch(() => null);
    if (!answer || answer.redirected || answer.status !== 200) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.getElementById("draft");
    if (!fresh || !form()) return;
    for (const id of touched) {
      const [from, to] = [page, document].map((root) => root.getElementById(id));
      if (from && to) copyState(from, to);
    }
    showPreview(page.getElementById("preview"));
  }

  document.addEventListener("change", (event) => {
    const draft = event.target.closest?.("#draft[data-check]");
    if (!draft || event.target.name === "reason") return;
    const field = event.target.closest(".field");
    if (field?.id) touched.add(field.id);
    clearTimeout(waiting);
    waiting = setTimeout(check, CHECK_AFTER_MS);
  });

  // A secret is never sent back: the preview is fetched beside it, for the form would lose it.
  document.addEventListener("click", (event) => {
    if (!event.target.closest?.('#draft[data-check] button[value="preview"]')) return;
    if (![...form().querySelectorAll('input[type="password"]')].some((field) => field.value)) return;
    event.preventDefault();
    for (const field of form().querySelectorAll(".field[id]")) touched.add(field.id);
    clearTimeout(waiting);
    check().then(() => form()?.querySelector('[aria-invalid="true"]')?.focus());
  });

  if (form()?.matches("[data-preview-first]")) check();
});
