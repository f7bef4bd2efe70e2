"""What the page of components shows: made up, one of everything, the same every time."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

UNTIL = "2026-01-01T12:00:41+00:00"
MOMENT = "2026-01-01T12:00:00+00:00"
PROCESSES = (("a1", 118), ("b2", 118), ("c3", 118), ("d4", 117))
CALL = (
    'curl -X POST -H "Authorization: Bearer $KEY" \\\n'
    '  "$ROUTERADMIN/api/v1/deployments/large/drain"'
)


class Beats:
    """Strips with every kind of tick."""

    error_share = 0.021

    def of(self, key: object) -> str:
        return "......" + "ooooolooeooc" * 4 + "oooooo"


def row(state: str, rank: int = 0, **more: Any) -> dict[str, Any]:
    return {
        "id": f"large/{state}",
        "dom": f"r{rank}",
        "deployment": "large",
        "credential": "team-a",
        "matched": None,
        "provider": "openwave",
        "state": state,
        "rank": rank,
        "active": 3,
        "max_parallel_requests": 8,
        "rpm": {"used": 112, "limit": 120},
        "tpm": {"used": 41_000, "limit": 60_000},
        "latency_ms": {"p50": 440, "p95": 1580, "ttft_p50": 120},
        "cooldown": None,
        "last_error": None,
        "probe_is_free": False,
        "admin_state": "enabled",
        "health": "healthy",
        "level": 2,
        "consecutive_failures": 0,
        **more,
    }


def rows(states: tuple[str, ...]) -> list[dict[str, Any]]:
    """One in each state; those that tell a reason have one."""
    evidence = {"class": "rate-limited", "status": 429, "message": "Team A is over its quota"}
    timed = {"since": MOMENT, "until": UNTIL, "remaining_s": 41, "level": 2, "set_by": "result"}
    failed = {"class": "transient", "status": 503, "message": "overloaded", "at": MOMENT}
    reasons: dict[str, dict[str, Any]] = {
        "cooling": {"cooldown": {**evidence, **timed}},
        "degraded": {"last_error": failed},
        "at-limit": {"rpm": {"used": 120, "limit": 120}, "active": 8},
        "disabled": {"latency_ms": {"p50": None}},
    }
    return [row(state, n, **reasons.get(state, {})) for n, state in enumerate(states)]


def group(states: tuple[str, ...]) -> dict[str, Any]:
    strategy = {
        "strategy": "least_busy",
        "tiers": (1, 2),
        "fallback_enabled": True,
        "alias": "chat",
    }
    found = {"dom": "g1", "id": "chat", "title": "chat", "kind": "route", "route": strategy}
    return found | {"rows": rows(states), "healthy": 1, "total": len(states), "hidden": 0}


FOLDED = {"dom": "g2", "id": "x", "title": "batch", "rows": (), "hidden": 12, "rank": 9} | {
    "healthy": 12,
    "total": 12,
    "link": "#strip",
}
TURN = SimpleNamespace(uid="0198c2", route="chat", started_at=MOMENT)
ERROR = SimpleNamespace(
    turn=TURN, failure_class="rate-limited", status=429, message="over its quota", duration_ms=90
)
EVENTS = (
    {"kind": "cooldown-set", "key": "large/team-a", "cls": "rate-limited", "status": 429}
    | {"failure_class": "rate-limited", "set_by": "result", "at": MOMENT},
    {"kind": "drained", "key": "local", "set_by": "user:ada", "at": MOMENT},
)
PANEL = {
    "panel": "large/cooling",
    "panel_closed": "",
    "why": ({"alias": "chat", "verdict": "refuses it:", "reasons": ("cooling-down",)},),
    "errors": (ERROR,),
    "changes": EVENTS,
    "attempts": (ERROR,),
}
QUESTION = {
    "title": "Delete deployment large?",
    "yes": "Delete",
    "back": "#strip",
    "version": "7",
    "lines": ("Its history stays, and an earlier revision brings it back.",),
    "affected": (1,),
    "listed": ({"word": "route", "name": "chat", "what": "loses a target", "url": "#strip"},),
    "text": "- serving_models large",
    "call": CALL,
}
DONE = {
    "drained": {"text": "large drains: no new requests.", "undo": "enable", "call": CALL},
    "tested": {
        "text": "large does not work with team-a.",
        "call": CALL,
        "steps": (
            {"name": "DNS", "ok": True, "duration_ms": 2, "detail": "192.0.2.7"},
            {"name": "key accepted", "ok": False, "duration_ms": 88, "detail": "401"},
            {"name": "first token", "ok": None, "duration_ms": None},
        ),
    },
}
LOG = {
    "text": "large",
    "filtered": True,
    "newest": "#strip",
    "older": "#strip",
    "offers": (
        {
            "name": "kind",
            "title": "Kind",
            "options": (("cooldown-set", "cooldown-set"),),
            "chosen": "",
        },
        {"name": "deployment", "title": "Deployment", "options": (), "chosen": "large"},
    ),
}
CELLS = (
    {"state": "cooling"},
    {"text": "large", "url": "#strip", "sub": "openwave"},
    {"text": "3", "tags": ("eu", "cheap")},
)
ROUTING = (
    {"title": "Intent", "subject": "coding", "url": "#strip", "lines": ("confidence 0.82",)},
    {"title": "Session", "subject": "stayed with large/team-a", "lines": ()},
)
CHOSEN = {"name": "Failed in the EU", "query": "state=cooling"}
SAVED = {
    "page": "live",
    "views": (CHOSEN, {"name": "Busy"}),
    "current": CHOSEN,
    "query": "state=cooling",
}
DIFFERENCES = ({"label": "Category", "seen": "lab", "theirs": "commercial", "mine": "lab"},)
DRAFT = {"changed": True, "warnings": ({"detail": "Nothing uses this provider yet."},)}
SIMULATED = {
    "shares": {"large/team-a": 0.612, "local/open": 0.388},
    "explanation": {
        "targets": (
            {
                "serving_model_id": "spare",
                "credential_id": "open",
                "rejections": ("admin-disabled",),
            },
        )
    },
}
