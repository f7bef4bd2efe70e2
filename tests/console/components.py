"""``python -m tests.console.components``: renew docs/components.html from the real fragments."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

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
PROCESSES = (("a1", 118), ("b2", 118), ("c3", 118), ("d4", 117))
UNTIL = "2026-01-01T12:00:41+00:00"
MOMENT = "2026-01-01T12:00:00+00:00"


def row(state: str, **more: Any) -> dict[str, Any]:
    return {
        "id": f"large/{state}",
        "deployment": "large",
        "credential": "team-a",
        "matched": None,
        "provider": "openwave",
        "state": state,
        "rank": 0,
        "active": 3,
        "max_parallel_requests": 8,
        "rpm": {"used": 112, "limit": 120},
        "tpm": {"used": 41_000, "limit": 60_000},
        "latency_ms": {"p50": 440, "p95": 1580, "ttft_p50": 120},
        "cooldown": None,
        "last_error": None,
        **more,
    }


def rows() -> list[dict[str, Any]]:
    evidence = {"class": "rate-limited", "status": 429, "message": "Team A is over its quota"}
    timed = {"since": MOMENT, "until": UNTIL, "remaining_s": 41, "level": 2, "set_by": "result"}
    return [row("cooling", cooldown={**evidence, **timed}), row("healthy")]


class Beats:
    """Strips with every kind of tick."""

    error_share = 0.021

    def of(self, key: object) -> str:
        return "......" + "ooooolooeooc" * 4 + "oooooo"


def rendered() -> str:
    from django.template import Context, Engine, engines

    from routeradmin.console.board import FIGURES, STATES, Figure
    from routeradmin.services.live import Standing

    engine: Engine = engines["django"].engine  # type: ignore[attr-defined]
    source = Path(__file__).with_suffix(".html").read_text(encoding="utf-8")
    context = {
        "sheets": SHEETS,
        "states": STATES,
        "figures": [Figure(name, title, "#strip", name == "cooling") for name, title in FIGURES],
        "sums": dict.fromkeys(STATES, 0)
        | {"healthy": 41, "total": 44, "cooling": 2, "active": 17, "rpm": 1240},
        "standing": Standing(118, PROCESSES, (("d4", 117, False),), (), ()),
        "meters": (0, 3, 7, 8),
        "rows": rows(),
        "beats": Beats(),
        "moment": MOMENT,
        "until": UNTIL,
        "shares": (0.612, 0.388),
        "diff": "~ serving_models large\n    weight: 1 -> 3\n+ targets chat-2",
        "bars": (
            {
                "who": "large",
                "word": "rate-limited 429",
                "wrong": 1,
                "x": 0,
                "width": 8,
                "took": 90,
            },
            {"who": "local", "word": "succeeded", "x": 10, "width": 90, "took": 1010},
        ),
    }
    return str(engine.from_string(source).render(Context(context)))


if __name__ == "__main__":
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "routeradmin.settings")
    django.setup()
    PAGE.write_text(rendered(), encoding="utf-8")
