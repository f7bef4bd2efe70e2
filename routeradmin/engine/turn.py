"""The step machine of one turn: which candidate next, how long to wait, when to stop.

``next`` decides and reserves nothing; asked twice it answers alike, so that a report's advice and
the select that follows agree. ``begin`` notes a started attempt, ``tell`` its outcome. Time and
chance are arguments; the caller holds the slots.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from routeradmin.engine.compile import normal
from routeradmin.engine.eligibility import falls_back
from routeradmin.engine.explain import provenance
from routeradmin.engine.request import SelectRequest
from routeradmin.engine.resolve import AUTO, Resolved, resolve
from routeradmin.engine.snapshot import Candidate, Snapshot
from routeradmin.engine.state import CandidateKey, Outcome, Settlement, StateView
from routeradmin.engine.turn_book import Claim, Kept
from routeradmin.engine.turn_path import Path
from routeradmin.engine.turn_rules import fallback_list, verdict
from routeradmin.engine.turn_state import Attempt, HaltReason, Mood, Opening, TurnState
from routeradmin.engine.turn_steps import Halt, Step, Try, Wait

Admit = Callable[[Candidate], bool]


class Turn:
    """One request carried through attempts until it halts, on one snapshot."""

    def __init__(self, state: TurnState, resolved: Resolved) -> None:
        self.state = state
        self.resolved = resolved
        self.policy = resolved.route.policy
        self.version = 0  # of the kept turn that this one came from
        self._path = Path(state, resolved)
        self._halt: Halt | None = None

    @classmethod
    def start(
        cls,
        turn_id: str,
        resolved: Resolved,
        request: SelectRequest,
        now: float,
        *,
        deadline_at: float | None = None,
        streaming: bool = False,
        routing: dict[str, Any] | None = None,
    ) -> Turn:
        """A new turn; the earlier of the caller's deadline and the policy's counts.

        ``routing`` is what its record says of the way to the route."""
        limit_s = resolved.route.policy.turn.deadline_s
        ends = [
            at for at in (deadline_at, None if limit_s is None else now + limit_s) if at is not None
        ]
        state = TurnState(
            turn_id,
            resolved.requested,
            resolved.route.id,
            request,
            now,
            min(ends, default=None),
            streaming,
            at_route=resolved.route.id,
            routing=routing or {},
        )
        return cls(state, resolved)

    @classmethod
    def of(cls, kept: Kept, snapshot: Snapshot) -> Turn:
        """A kept turn on the snapshot of now, with the attempt that was begun since it was put
        down. Raises ModelNotFound if its route is gone."""
        if isinstance(kept.turn, Opening):
            turn = cls.reopen(kept.turn, snapshot)
        else:
            turn = cls.resume(kept.turn, snapshot)
        turn.version = kept.version
        if kept.claim is not None:
            turn._take_up(kept.claim)
        return turn

    @classmethod
    def resume(cls, state: TurnState, snapshot: Snapshot) -> Turn:
        """A kept turn, on the snapshot of now. Raises ModelNotFound if its route is gone."""
        route = snapshot.routes.get(state.route_id)
        if route is None or "*" in route.alias:
            # What ``auto`` chose once stays chosen: a ``provider:model`` is its route's own name.
            chosen = state.route_id if normal(state.model) == AUTO else state.model
            return cls(state, resolve(snapshot, chosen)._replace(requested=state.model))
        return cls(state, Resolved(route, None, state.model, snapshot))

    @classmethod
    def reopen(cls, opening: Opening, snapshot: Snapshot) -> Turn:
        """The turn that an opening stands for, on the snapshot of now.

        Raises ModelNotFound if its route is gone; a candidate that is gone has no attempt.
        """
        turn = cls.resume(
            TurnState(
                opening.id,
                opening.model,
                opening.route_id,
                opening.request,
                opening.at,
                at_route=opening.route_id,
                tier=opening.tier,
            ),
            snapshot,
        )
        limit_s = turn.policy.turn.deadline_s
        turn.state.deadline_at = None if limit_s is None else opening.at + limit_s
        turn._take_up(
            Claim(opening.key, opening.route_id, opening.tier, opening.lease_id, opening.at)
        )
        return turn

    def _take_up(self, claim: Claim) -> None:
        """Begin the attempt that was claimed; none where its candidate left the catalog."""
        resolved = self.resolved
        route = resolved.snapshot.routes.get(claim.route_id)
        if claim.route_id != resolved.route.id and route is not None:
            resolved = Resolved(route, None, resolved.requested, resolved.snapshot)
        for candidate in resolved.route.candidates:
            if candidate.key == claim.key and candidate.tier == claim.tier:
                self.begin(Try(candidate, None, resolved, claim.tier), claim.at, claim.lease_id)

    def catch_up(self, step: Try, now: float, lease_id: str) -> None:
        """The first attempt was begun without this machine: ``step`` is what it would have said."""
        self.state.tier = step.tier
        self.begin(step, now, lease_id)

    def anew(self) -> None:
        """Back to where it began, for a turn without attempts that came to its end on figures that
        are not the newest. What it has waited and its deadline count on."""
        old = self.state
        self.state = TurnState(
            old.id,
            old.model,
            old.route_id,
            old.request,
            old.started_at,
            old.deadline_at,
            old.streaming,
            at_route=old.route_id,
            recovery_limit=old.recovery_limit,
            routing=old.routing,
        )
        self._path = Path(self.state, self.resolved)
        self._halt = None

    @property
    def attempts(self) -> int:
        """How many have begun."""
        return len(self.state.attempts)

    def next(
        self,
        view: StateView,
        now: float,
        rng: Random,
        *,
        cancelled: bool = False,
        admit: Admit | None = None,
        prefer: CandidateKey | None = None,
    ) -> Step:
        """What to do now. ``admit`` says whether limits and budgets allow an attempt;
        ``prefer`` is the candidate that a session would like to keep."""
        state = self.state
        if state.halt is not None or state.refused:
            return self._halt or self._describe(state.halt)
        if cancelled:
            return self.stop(HaltReason.CANCELLED, now)
        if state.resume_at is not None and now < state.resume_at:
            return Wait(state.resume_at, state.wait_ms, state.resume_kind)
        state.resume_at = None
        step = self._path.step(view, now, rng, prefer)
        if isinstance(step, Halt):
            self._halt = step
            return self._over(step, now)
        if isinstance(step, Try):
            return self._allowed(step, now, admit)
        return step

    def begin(self, step: Try, now: float, lease_id: str = "") -> int:
        """The attempt starts on the lease that was taken for it; its number, counted from 1."""
        state, candidate = self.state, step.candidate
        credential = candidate.credential
        attempt = Attempt(
            len(state.attempts) + 1,
            candidate.key,
            step.resolved.route.id,
            candidate.target.id,
            step.tier,
            provenance(candidate),
            credential.auth_kind.value,
            credential.billing_kind.value,
            now,
            state.wait_ms,
            lease_id,
        )
        state.wait_ms = 0
        state.attempts.append(attempt)
        if step.note:
            state.warnings.append(
                {
                    "code": "selector-fallback",
                    "attempt": attempt.n,
                    "target": attempt.target,
                    "detail": step.note,
                }
            )
        self._path.ground.visit(step)
        return attempt.n

    def lost(self, key: CandidateKey) -> None:
        """Another caller took the last slot: this candidate is out of the round."""
        self._path.ground.drop(key)

    def tell(
        self,
        outcome: Outcome,
        now: float,
        *,
        attempt: int | None = None,
        settlement: Settlement | None = None,
        visible_events: int | None = None,
    ) -> None:
        """How an attempt ended. ``settlement`` is what the store made of it: a cooldown that this
        outcome set may be waited out by this turn. ``attempt`` None is the newest one; the end of
        an older one is only recorded. Raises ValueError where no attempt was begun."""
        if not self.state.attempts:
            raise ValueError("no attempt was begun: call begin() before tell()")
        told = self.state.attempts[-1 if attempt is None else attempt - 1]
        _note(told, outcome, now, visible_events)
        if told is not self.state.attempts[-1] or self.state.halt is not None:
            return
        self._path.rest(told.key, settlement)
        route = self.resolved.route
        lists = self.policy.fallback if falls_back(route, self.state.request) else None
        own = fallback_list(lists, outcome.failure) if lists and outcome.failure else ()
        found = verdict(outcome, self.policy, bool(own))
        if isinstance(found, HaltReason):
            self.stop(found, now)
            return
        self.state.mood = found
        self.state.hint_s = outcome.hint_s
        self.state.retriable = outcome.retriable
        if found is not Mood.RETRY:
            self.state.spent.append(told.key)
        if found is Mood.LEAVE:
            self._path.leave_for(own)

    def stop(self, reason: HaltReason, now: float) -> Halt:
        """End the turn from outside: cancelled, deadline, limit-refused, sink-refused. One that
        is over stays as it ended."""
        if self.state.halt is not None:
            return self._halt or self._describe(self.state.halt)
        self._halt = self._describe(reason)
        return self._over(self._halt, now)

    def record(self) -> dict[str, object]:
        """The members of a turn record that the engine knows."""
        state = self.state
        took = None if state.ended_at is None else state.ended_at - state.started_at
        return {
            "id": state.id,
            "route": state.route_id,
            "model": state.model,
            "halt": None if state.halt is None else state.halt.value,
            "started_at": state.started_at,
            "duration_ms": None if took is None else round(took * 1000),
            "attempts": [attempt.as_record() for attempt in state.attempts],
            "warnings": list(state.warnings),
            "routing": dict(state.routing) or None,
        }

    def _allowed(self, step: Try, now: float, admit: Admit | None) -> Step:
        """The checks before every attempt, in their order; eligibility was the path's."""
        state = self.state
        if len(state.attempts) >= self.policy.turn.max_turn_attempts:
            return self.stop(HaltReason.ATTEMPT_BOUND, now)
        if state.deadline_at is not None and now >= state.deadline_at:
            return self.stop(HaltReason.DEADLINE, now)
        if admit is not None and not admit(step.candidate):
            return self.stop(HaltReason.LIMIT_REFUSED, now)
        return step

    def _over(self, halt: Halt, now: float) -> Halt:
        self.state.halt, self.state.refused = halt.halt, halt.halt is None
        if self.state.ended_at is None:
            self.state.ended_at = now
        return halt

    def _describe(self, reason: HaltReason | None) -> Halt:
        attempts = self.state.attempts
        if not attempts:
            return Halt(reason)
        last = attempts[-1]
        return Halt(reason, None, last.cls, last.status, last.message)


def _note(attempt: Attempt, outcome: Outcome, now: float, visible_events: int | None) -> None:
    attempt.ended_at = now
    attempt.cls = None if outcome.failure is None else outcome.failure.value
    attempt.status = outcome.status
    attempt.dispatch = outcome.dispatch.value
    if visible_events is None:
        visible_events = int(outcome.visible_output)
    attempt.visible_events = visible_events
    attempt.ttft_ms = outcome.ttft_ms
    attempt.input_tokens, attempt.output_tokens = outcome.input_tokens, outcome.output_tokens
    attempt.message = outcome.message


__all__ = ["Admit", "Halt", "Step", "Try", "Turn", "Wait"]
