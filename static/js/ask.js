// What takes something away is asked about in a dialog: the page behind the link, as a part of this
// one. Without this script the link leads to that page.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const dialog = document.getElementById("ask");
  if (!dialog?.showModal) return;
  let asker = null;

  async function ask(link) {
    asker = link;
    const answer = await fetch(link.href, { headers: { "HX-Request": "true" } }).catch(() => null);
    if (!answer?.ok || answer.redirected) {
      location.assign(link.href);
      return;
    }
    dialog.innerHTML = await answer.text();
    htmx.process(dialog);
    dialog.setAttribute("aria-labelledby", "question-title");
    dialog.showModal();
    dialog.querySelector("#question-title").focus();
  }

  document.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    const link = event.target.closest?.("a[data-ask]");
    if (link) {
      event.preventDefault();
      ask(link);
    } else if (event.target.closest?.("#ask [data-close]")) {
      event.preventDefault();
      dialog.close();
    }
  });

  dialog.addEventListener("close", () => {
    dialog.replaceChildren();
    asker?.focus();
  });
});
