"""``python -m tests.console.components``: renew docs/components.html from the real fragments."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.console import component_data as made

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "components.html"
SHEETS = (
    "tokens",
    "base",
    "parts",
    "menus",
    "dialogs",
    "toasts",
    "forms",
    "tables",
    "link",
    "strip",
    "live",
    "panel",
    "forced",
)


def forms() -> dict[str, Any]:
    from routeradmin.console.forms.providers import ProviderDraft

    refused = ProviderDraft({"id": "two words", "kind": "ollama"}, auto_id="refused-%s")
    refused.add_error("id", "An id has no spaces.")
    values = {"id": "openwave", "category": "lab", "kind": "anthropic", "admin_state": "enabled"}
    return {"refused": refused, "again": ProviderDraft(initial=values, auto_id="again-%s")}


def context() -> dict[str, Any]:
    from routeradmin.console.board import FIGURES, STATES, Figure
    from routeradmin.services.live import Standing

    admin = SimpleNamespace(may_operate=True, may_configure=True, role="admin")
    return {
        "request": SimpleNamespace(user=admin, path="/routes", GET={}),
        "sheets": SHEETS,
        "states": STATES,
        "figures": [Figure(name, title, "#strip", name == "cooling") for name, title in FIGURES],
        "sums": dict.fromkeys(STATES, 0)
        | {"healthy": 41, "total": 44, "cooling": 2, "active": 17, "rpm": 1240},
        "standing": Standing(118, made.PROCESSES, (("d4", 117, False),), (), ()),
        "troubled": {"degraded": ("redis",), "failing": (("retention", 3, "disk full"),)},
        "meters": (0, 3, 7, 8),
        "rows": made.rows(("cooling", "healthy")),
        "group": made.group(STATES),
        "folded": made.FOLDED,
        "panel_row": made.rows(("cooling",))[0],
        "beats": made.Beats(),
        "moment": made.MOMENT,
        "until": made.UNTIL,
        "shares": (0.612, 0.388),
        "diff": "~ serving_models large\n    weight: 1 -> 3\n+ targets chat-2",
        "bars": BARS,
        "noun": {"one": "provider", "kind": "providers", "publishes": True},
        "wanted": {"state": "cooling"},
        "action": "#strip",
        "back": "#strip",
        "curl": made.CALL,
        "question": made.QUESTION,
        "page": made.LOG,
        "cells": made.CELLS,
        "routing": made.ROUTING,
        "saved": made.SAVED,
        "draft": None,
        "differences": made.DIFFERENCES,
        "a_draft": made.DRAFT,
        "simulated": made.SIMULATED,
        **made.PANEL,
        **made.DONE,
        **forms(),
    }


BARS = (
    {"who": "large", "word": "rate-limited 429", "wrong": 1, "x": 0, "width": 8, "took": 90},
    {"who": "local", "word": "succeeded", "x": 10, "width": 90, "took": 1010},
)


def rendered() -> str:
    from django.template import Context, Engine, engines

    engine: Engine = engines["django"].engine  # type: ignore[attr-defined]
    source = Path(__file__).with_suffix(".html").read_text(encoding="utf-8")
    page = str(engine.from_string(source).render(Context(context())))
    # A dialog that nobody opens shows nothing.
    page = page.replace('<dialog id="keys"', '<div id="keys"').replace("</dialog>", "</div>")
    # The row that the keys act on is marked by console.js.
    return page.replace('<li class="row"', '<li class="row" data-current', 1)


if __name__ == "__main__":
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "routeradmin.settings")
    django.setup()
    PAGE.write_text(rendered(), encoding="utf-8")
