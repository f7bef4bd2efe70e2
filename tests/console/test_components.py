"""The page of components shows what the console shows today, and leaves no fragment out."""

from __future__ import annotations

from typing import Any

from django.test.signals import template_rendered

from tests.console.components import PAGE, ROOT, rendered

# Parts that are a page's own rather than a component of several.
OF_ONE_PAGE = {
    "console/live/_board.html",  # notices, strip and groups, each shown by itself
    "console/live/_actions.html",  # the button that opens the list of actions, in every row
    "console/parts/_follow.html",  # scripts
    "console/parts/_link.html",  # the label of freshness and the socket
    "console/policies/_links.html",
    "console/intents/_links.html",
    "console/intents/_judge.html",
    "console/routes/_rules.html",
    "console/transfer/_outcome.html",  # what came of an import, whole
    "console/explain/_further.html",
    "console/catalog/_tried.html",
    "console/incidents/_where.html",
    "console/incidents/_rows.html",
}


def test_the_page_of_components_is_what_its_fragments_make() -> None:
    assert PAGE.read_text(encoding="utf-8") == rendered(), (
        "renew it: python -m tests.console.components"
    )


def test_every_fragment_of_the_console_is_among_the_components() -> None:
    shown: set[str] = set()

    def note(template: Any, **kwargs: Any) -> None:
        shown.add(template.name)

    template_rendered.connect(note)
    try:
        rendered()
    finally:
        template_rendered.disconnect(note)
    templates = ROOT / "templates"
    fragments = {str(path.relative_to(templates)) for path in templates.glob("console/**/_*.html")}
    assert fragments >= OF_ONE_PAGE
    assert fragments - OF_ONE_PAGE - shown == set()
