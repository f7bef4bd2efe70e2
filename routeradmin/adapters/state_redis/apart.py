"""What happened here while Redis was out of reach, to be told when it is back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from routeradmin.adapters.state_redis import wire
from routeradmin.engine.state import CandidateKey, CandidateState, ReportState

MOST_KEPT = 100_000  # ends and answers; leases whose end is not told run out by themselves

Charge = tuple[int, int, int]  # window, requests, tokens


class Apart:
    """Ends of leases, first answers, turns, and what was charged, since ``begin``."""

    def __init__(self) -> None:
        self.began = False
        self.turns: set[str] = set()
        self.untold: list[tuple[Any, ...]] = []  # steps on whose way Redis went again
        self._ends: dict[str, tuple[ReportState, int]] = {}
        self._answers: dict[str, dict[str, Any]] = {}
        self._charged: dict[CandidateKey, Charge] = {}

    def begin(self, states: Iterable[CandidateState]) -> None:
        self.began = True
        self._charged = {s.key: (s.window, s.rpm_used, s.tpm_used) for s in states}

    def clear(self) -> None:
        self.began = False
        self.turns.clear()
        self._ends.clear()
        self._answers.clear()
        self._charged.clear()

    def ended(self, lease_id: str, phase: ReportState, used: int = 0) -> None:
        if len(self._ends) < MOST_KEPT:
            self._ends[lease_id] = (phase, used)

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

    def answered(self, lease_id: str, answer: dict[str, Any]) -> None:
        if len(self._answers) < MOST_KEPT:
            self._answers.setdefault(lease_id, answer)

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

    def take_ends(self, now: float) -> list[tuple[Any, ...]]:
        """Steps that tell of ends and first answers; they are not kept any longer."""
        ends, self._ends = self._ends, {}
        answers, self._answers = self._answers, {}
        return [
            *(
                ("close", repr(now), lease_id, "", phase.value, used, -1, "", wire.NOTHING)
                for lease_id, (phase, used) in ends.items()
            ),
            *(("answer", lease_id, wire.Text(answer)) for lease_id, answer in answers.items()),
        ]
