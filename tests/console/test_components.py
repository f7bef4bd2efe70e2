"""The page of components shows what the console shows today."""

from __future__ import annotations

from tests.console.components import PAGE, rendered


def test_the_page_of_components_is_what_its_fragments_make() -> None:
    assert PAGE.read_text(encoding="utf-8") == rendered(), (
        "renew it: python -m tests.console.components"
    )
