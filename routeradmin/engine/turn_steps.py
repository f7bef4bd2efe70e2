"""What a turn asks its driver to do next."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from routeradmin.engine.refusal import Refusal
from routeradmin.engine.resolve import Resolved
from routeradmin.engine.snapshot import Candidate
from routeradmin.engine.state import Ring
from routeradmin.engine.turn_state import HaltReason


class Try(NamedTuple):
    """Reserve and call this candidate: ``Turn.begin`` when the call starts, ``Turn.lost`` when
    another caller took the slot. ``resolved`` is the route it belongs to, maybe a fallback."""

    candidate: Candidate
    cursor: str | None
    resolved: Resolved
    tier: int
    least_bad: bool = False
    note: str = ""
    ring: Ring | None = None

    def on(self, candidate: Candidate) -> Try:
        """This step with the candidate that the lease came to be on."""
        return self if candidate is self.candidate else self._replace(candidate=candidate)


@dataclass(frozen=True, slots=True)
class Wait:
    """Ask again at ``until`` (epoch seconds). ``warning`` is for the client, once per wait.

    ``kind``: ``round`` before a new round, ``recovery`` while nothing is eligible.
    """

    until: float
    wait_ms: int
    kind: str
    warning: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Halt:
    """The turn is over. ``halt`` None: nothing could serve the request at all (``unsupported``).

    ``refusal``: why nothing was eligible, where no attempt was made. ``cls``, ``status`` and
    ``message`` are the last attempt's; the message says how often its target was tried.
    """

    halt: HaltReason | None
    refusal: Refusal | None = None
    cls: str | None = None
    status: int | None = None
    message: str = ""
    retry_after_s: int | None = None


Step = Try | Wait | Halt


def advice(step: Step, now: float) -> dict[str, Any]:
    """The ``next`` member of a report's answer."""
    if isinstance(step, Try):
        return {"action": "next", "wait_ms": 0, "halt": None}
    if isinstance(step, Wait):
        left_ms = max(0, math.ceil(round((step.until - now) * 1000, 3)))
        return {"action": "retry", "wait_ms": left_ms, "halt": None}
    done = step.halt is HaltReason.SUCCEEDED
    halt = HaltReason.EXHAUSTED if step.halt is None else step.halt
    return {"action": "done" if done else "stop", "wait_ms": 0, "halt": halt.value}


def after_attempts(message: str, count: int) -> str:
    """The message with how many attempts its target had."""
    said = f"(after {count} attempt{'' if count == 1 else 's'})"
    return f"{message} {said}" if message else said
