"""One report on its way to Redis: what is asked, and what it comes to if nothing has moved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from routeradmin.adapters.state_redis import wire
from routeradmin.adapters.state_redis.mirror import Verdict, Way
from routeradmin.engine import accounting
from routeradmin.engine.policy import Policy
from routeradmin.engine.state import Lease, Outcome, ReportState
from routeradmin.engine.turn_book import Tell, Told
from routeradmin.engine.windows import window


@dataclass(frozen=True, slots=True)
class Decided:
    """``phase`` is what the lease was taken to be in, ``version`` the turn's before
    and ``next_version`` after; ``way`` marks the
    slot as leaving in the local picture."""

    phase: ReportState
    verdict: Verdict
    told: Told | None
    version: int
    next_version: int
    way: Way | None

    @property
    def answer(self) -> dict[str, Any] | None:
        return None if self.told is None else self.told.answer


@dataclass(slots=True)
class Ending:
    """What a report says of its lease; decided again until Redis keeps the decision."""

    lease: Lease
    generation: int | None
    outcome: Outcome
    policy: Policy
    now: float
    tell: Tell | None
    granter: str = ""  # of the lease, if that was another process
    is_sampled: bool = False  # its times count once, however often it is decided

    @property
    def used(self) -> int:
        return accounting.tokens_used(self.outcome, self.lease.held_tokens)

    @property
    def tokens(self) -> int:
        """What its end adds to the tokens of the running window."""
        lease = self.lease
        return self.used - lease.held_tokens if lease.window == window(self.now) else 0

    def step(self, decided: Decided) -> tuple[Any, ...]:
        lease, verdict, told = self.lease, decided.verdict, decided.told
        on = ""
        turn: Any = 0
        answer: wire.Text | int = 0
        if told is not None:
            on, answer = decided.phase.value, wire.Text(told.answer)
            if told.turn is not None:
                text = wire.turn_text(told.turn, self.now)
                turn = [lease.turn_id, decided.version, decided.next_version, text]
        return (
            "close",
            repr(self.now),
            lease.id,
            "" if self.generation is None else str(self.generation),
            ReportState.REPEATED.value,
            self.used,
            verdict.expected,
            verdict.record,
            verdict.deltas,
            on,
            turn,
            answer,
            self.granter,
        )
