"""What happened here while Redis was out of reach, to be told when it is back."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from routeradmin.adapters.state_redis import wire
from routeradmin.engine.key_use import KeyBook, KeyUse
from routeradmin.engine.state import CandidateKey, CandidateState, ReportState

MOST_KEPT = 100_000  # ends and answers; leases whose end is not told run out by themselves

Charge = tuple[int, int, int]  # window, requests, tokens


class Apart:
    """Ends of leases, first answers, turns, and what was charged, since ``begin``."""

    def __init__(self) -> None:
        self.began = False
        self.turns: OrderedDict[str, None] = OrderedDict()  # in the order of their changes
        self.untold: list[tuple[Any, ...]] = []  # steps on whose way Redis went again
        self._ends: dict[str, tuple[ReportState, int, dict[str, Any] | None]] = {}
        self._charged: dict[CandidateKey, Charge] = {}
        self._uses: dict[str, KeyUse] = {}

    def begin(self, states: Iterable[CandidateState], keys: KeyBook) -> None:
        self.began = True
        self._uses = {uid: replace(use) for uid, use in keys}
        self._charged = {s.key: (s.window, s.rpm_used, s.tpm_used) for s in states}

    def clear(self) -> None:
        self.began = False
        self._ends.clear()
        self._uses.clear()
        self._charged.clear()

    def ended(
        self,
        lease_id: str,
        phase: ReportState,
        used: int = 0,
        answer: dict[str, Any] | None = None,
    ) -> None:
        if len(self._ends) < MOST_KEPT:
            self._ends[lease_id] = (phase, used, answer)

    def turn_changed(self, turn_id: str) -> None:
        self.turns[turn_id] = None
        if len(self.turns) > MOST_KEPT:
            self.turns.popitem(last=False)

    def take_turns(self, most: int = MOST_KEPT) -> list[str]:
        """The first of them; they are not kept any longer."""
        return [self.turns.popitem(last=False)[0] for _ in range(min(most, len(self.turns)))]

    def lost(self, step: tuple[Any, ...]) -> None:
        """It may not have arrived; all that is told of leases may be told twice."""
        if len(self.untold) < MOST_KEPT:
            self.untold.append(step)

    def take_untold(self) -> list[tuple[Any, ...]]:
        untold, self.untold = self.untold, []
        return untold

    @property
    def ended_ids(self) -> list[str]:
        return list(self._ends)

    def charges(
        self, states: Iterable[CandidateState], current: int
    ) -> dict[CandidateKey, tuple[int, ...]]:
        """In the window of now: what was charged before, at least, and what came here since."""
        found: dict[CandidateKey, tuple[int, ...]] = {}
        for state in states:
            if not self.began or state.window != current:
                continue
            of_window, rpm, tpm = self._charged.get(state.key, (current, 0, 0))
            if of_window != current:
                rpm = tpm = 0
            if state.rpm_used or state.tpm_used:
                more = max(0, state.rpm_used - rpm), state.tpm_used - tpm
                found[state.key] = (current, rpm, tpm, *more)
        return found

    def key_charges(self, keys: KeyBook, current: int) -> list[tuple[Any, ...]]:
        """Steps that tell what API keys were charged before, at least, and here since."""
        if not self.began:
            return []
        steps: list[tuple[Any, ...]] = []
        for uid, use in keys:
            text, was = wire.key_text(wire.payer_key(uid)), replace(self._uses.get(uid) or KeyUse())
            was.roll(current)
            if use.window == current:
                more = max(0, use.requests - was.requests), use.tokens - was.tokens
                steps.append(("charge", text, current, was.requests, was.tokens, *more))
            if use.day == was.day:
                more_tokens = use.day_tokens - was.day_tokens
                steps.append(("charge_day", text, use.day, was.day_tokens, more_tokens))
        return steps

    def take_ends(self, now: float) -> list[tuple[Any, ...]]:
        """Steps that tell of ends and first answers; they are not kept any longer."""
        ends, self._ends = self._ends, {}
        return [wire.close_step(now, lease_id, *end) for lease_id, end in ends.items()]
