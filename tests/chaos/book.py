"""What the load saw, written down as it happened: times are epoch seconds, durations seconds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tests.chaos.faults import Hurt

CALM = "calm"
OVER = ("done", "stop")


class Span(NamedTuple):
    """A fault, from its beginning until the system was whole again."""

    fault: str
    hurts: frozenset[Hurt]
    began_at: float
    ended_at: float

    def holds(self, at: float, before_s: float = 0.0, after_s: float = 0.0) -> bool:
        return self.began_at - before_s <= at <= self.ended_at + after_s


class Sample(NamedTuple):
    """``kind``: select, report, chat, ...; ``status`` 0: the connection broke."""

    kind: str
    at: float
    took_s: float
    status: int
    detail: str = ""


class Held(NamedTuple):
    """A slot that was surely taken: from the answer that gave it until it was asked to be given
    back, or its lease ran out."""

    began_at: float
    ended_at: float


class Cooled(NamedTuple):
    """An acknowledged cooldown."""

    told_at: float
    until: float


@dataclass
class Book:
    samples: list[Sample] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    slots: list[Held] = field(default_factory=list)
    of_minute: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    cooldowns: list[Cooled] = field(default_factory=list)
    granted_while_cooled: list[float] = field(default_factory=list)
    edits: list[int] = field(default_factory=list)
    turns: dict[str, float] = field(default_factory=dict)
    reports: dict[str, tuple[float, Any]] = field(default_factory=dict)
    other_answers: list[tuple[float, str]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def told(self, turn: str, answer: Any, at: float) -> None:
        """A report was answered. A turn that goes on is nobody's record yet."""
        if answer["next"]["action"] in OVER:
            self.turns[turn] = at

    def fault_at(self, at: float) -> str:
        return next((span.fault for span in self.spans if span.holds(at)), CALM)

    def hurt(self, what: Hurt) -> Iterable[Span]:
        return (span for span in self.spans if what in span.hurts)

    def was_hurt(self, what: Hurt, at: float, before_s: float = 0.0, after_s: float = 0.0) -> bool:
        return any(span.holds(at, before_s, after_s) for span in self.hurt(what))


def most_at_once(slots: Iterable[Held]) -> list[tuple[float, int]]:
    """How many were held from each moment on at which that grew."""
    ends = [(slot.ended_at, -1) for slot in slots if slot.ended_at > slot.began_at]
    begins = [(slot.began_at, 1) for slot in slots if slot.ended_at > slot.began_at]
    count, found = 0, []
    for at, change in sorted([*ends, *begins]):
        count += change
        if change > 0:
            found.append((at, count))
    return found


def quantile_s(took: list[float], share: float) -> float:
    """0 of nothing."""
    return sorted(took)[min(len(took) - 1, int(len(took) * share))] if took else 0.0
