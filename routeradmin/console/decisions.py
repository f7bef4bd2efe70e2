"""Recorded decisions of ``auto`` and what people said of them, as the feedback page shows it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from routeradmin.console import routing
from routeradmin.journal.models import IntentFeedback, Turn
from routeradmin.services import publishing, runtime
from routeradmin.services.intent.feedback import NOTHING

SHOWN = 30


@dataclass(frozen=True, slots=True)
class Decided:
    """One recorded turn for ``auto``; ``said`` is the newest judgement of it."""

    turn: str
    at: datetime
    intent: str
    tier: str
    confidence: float | None
    route: str
    said: IntentFeedback | None

    @property
    def is_nothing(self) -> bool:
        return self.intent == NOTHING


def recent(days: int) -> list[Decided]:
    """The newest decisions of that many days, newest first. Two queries."""
    since = publishing.moment(runtime.get()) - timedelta(days=days)
    turns = Turn.objects.filter(started_at__gte=since, routing__intent__isnull=False)
    found = list(turns.only("uid", "started_at", "route", "routing")[:SHOWN])
    judged = IntentFeedback.objects.filter(turn__in=[turn.uid for turn in found]).order_by("id")
    said = {row.turn: row for row in judged}
    return [_decided(turn, said.get(turn.uid)) for turn in found]


def _decided(turn: Turn, said: IntentFeedback | None) -> Decided:
    decision = _of(turn)
    return Decided(
        turn.uid,
        turn.started_at,
        decision.get("intent") or NOTHING,
        str(decision.get("tier") or ""),
        decision.get("confidence"),
        turn.route,
        said,
    )


def _of(turn: Turn) -> Mapping[str, Any]:
    found = (turn.routing or {}).get("intent")
    return found if isinstance(found, Mapping) else {}


def of_turn(uid: str) -> routing.Part | None:
    """A recorded decision in words; None where there is none."""
    turn = Turn.objects.filter(uid=uid).first()
    decision = {} if turn is None else _of(turn)
    return routing.decision(decision) if decision else None


@dataclass(frozen=True, slots=True)
class Square:
    """A count of the table; ``hit`` where what was decided was right."""

    right: str
    count: int
    hit: bool


def table(cells: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[Square]]]:
    """One row for each intent that was decided, one square for each that was right."""
    counts = {(cell["decided"], cell["right"]): int(cell["count"]) for cell in cells}
    columns = sorted({right for _, right in counts})
    return [
        (
            decided,
            [Square(right, counts.get((decided, right), 0), right == decided) for right in columns],
        )
        for decided in sorted({decided for decided, _ in counts})
    ]


@dataclass(frozen=True, slots=True)
class Tier:
    name: str
    count: int
    share: float
    intents: Sequence[tuple[str, int]]


def by_tier(decisions: Sequence[Mapping[str, Any]]) -> list[Tier]:
    """Recorded decisions by the tier that made them, the most frequent first."""
    tiers: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for one in decisions:
        tiers[str(one["tier"])].append((str(one["intent"]), int(one["count"])))
    total = sum(count for intents in tiers.values() for _, count in intents)
    found = [
        Tier(name, count, count / total, intents)
        for name, intents in tiers.items()
        if (count := sum(number for _, number in intents))
    ]
    return sorted(found, key=lambda tier: -tier.count)
