"""The way of one turn through candidates, rounds, previews, tiers and fallback routes.

Where the turn stands is in its state; this walks on from there to the next thing due.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random

from routeradmin.engine.backoff import round_wait_s
from routeradmin.engine.eligibility import falls_back
from routeradmin.engine.fallback_routes import after_refusal, as_used_by
from routeradmin.engine.objects import WhenExhausted
from routeradmin.engine.refusal import UNSUPPORTED, Refusal, refuse
from routeradmin.engine.resolve import Resolved
from routeradmin.engine.select import Pick, pick
from routeradmin.engine.state import CandidateKey, Settlement, StateView
from routeradmin.engine.turn_ground import Ground
from routeradmin.engine.turn_rules import OWN_LIST_ONLY, fallback_list
from routeradmin.engine.turn_state import HaltReason, Mood, TurnState, rest_name
from routeradmin.engine.turn_steps import Halt, Step, Wait, after_attempts

MIN_RECOVERY_S = 0.01  # a wait for recovery always moves time on


class Path:
    """Walks a turn's state; ``origin`` is the route the caller asked for."""

    def __init__(self, state: TurnState, origin: Resolved) -> None:
        self._state = state
        self._origin = origin
        self._policy = origin.route.policy
        at = origin if state.at_route == state.route_id else as_used_by(origin, state.at_route)
        self.ground = Ground(state, self._policy.turn, at or origin)

    def step(
        self, view: StateView, now: float, rng: Random, prefer: CandidateKey | None = None
    ) -> Step:
        """The next thing due: an attempt, a wait, or the end."""
        while True:
            found = self._here(view, now, rng, prefer)
            if found is not None:
                return found
            if not self._next_tier() and not self._next_route(view, now):
                return self._end(view, now, rng)

    def rest(self, key: CandidateKey, settlement: Settlement | None) -> None:
        """Remember the end of a cooldown that this turn's own outcome set."""
        for change in () if settlement is None else settlement.changes:
            if change.kind in ("cooldown-set", "cooldown-extended") and change.until is not None:
                self._state.rested[rest_name(key)] = change.until

    def leave_for(self, route_ids: Sequence[str]) -> None:
        """Leave this route; only the given routes are left to try."""
        self._state.routes_left = list(route_ids)

    def _here(
        self, view: StateView, now: float, rng: Random, prefer: CandidateKey | None
    ) -> Step | None:
        if self._state.mood is Mood.LEAVE:
            return None
        found = self.ground.untried(view, now, rng, prefer) or self.ground.preview(view, now)
        if found is None and self._state.mood is Mood.RETRY:
            return self._new_round(view, now, rng)
        return found

    def _new_round(self, view: StateView, now: float, rng: Random) -> Wait | Halt | None:
        """Wait for another round, unless rounds are spent or the wait leads nowhere."""
        state, retry = self._state, self._policy.retry
        rounds = retry.max_attempts
        if state.streaming and retry.stream_max_attempts is not None:
            rounds = retry.stream_max_attempts
        if state.round >= rounds or not state.round_attempts:
            return None
        wait_s = round_wait_s(retry, state.round, state.hint_s, rng)
        until = now + wait_s
        if state.deadline_at is not None and until >= state.deadline_at:
            return None
        if not self.ground.anyone_at(view, until):
            return None
        if len(state.attempts) >= self._policy.turn.max_turn_attempts:
            return self._halt(HaltReason.ATTEMPT_BOUND)
        return self._wait_for_round(until, math.ceil(round(wait_s * 1000, 3)))

    def _wait_for_round(self, until: float, wait_ms: int) -> Wait:
        state, last = self._state, self._state.attempts[-1]
        warning = {
            "code": "turn-retried",
            "attempt": last.n,
            "target": last.target,
            "class": last.cls,
            "wait_ms": wait_ms,
        }
        state.warnings.append(warning)
        state.round += 1
        state.round_attempts = 0
        state.tried = []
        state.queue = []
        return self._wait(until, wait_ms, "round", warning)

    def _wait(
        self, until: float, wait_ms: int, kind: str, warning: dict[str, object] | None = None
    ) -> Wait:
        state = self._state
        state.resume_at, state.wait_ms, state.resume_kind = until, wait_ms, kind
        return Wait(until, wait_ms, kind, warning)

    def _next_tier(self) -> bool:
        state, route = self._state, self.ground.at.route
        tiers = len(route.tiers) if falls_back(route, state.request) else 1
        if state.mood is Mood.LEAVE or state.tier + 1 >= tiers:
            return False
        self._enter(self.ground.at, state.tier + 1)
        return True

    def _next_route(self, view: StateView, now: float) -> bool:
        """The next fallback route of the list that the last class chose."""
        state = self._state
        if not falls_back(self._origin.route, state.request):
            return False
        if state.routes_left is None:
            state.routes_left = list(self._listed(view, now))
        while state.routes_left and self._routes_allowed():
            route_id = state.routes_left.pop(0)
            resolved = as_used_by(self._origin, route_id)
            if resolved is None or route_id in (state.route_id, *state.routes_entered):
                continue
            state.routes_entered.append(route_id)
            self._enter(resolved, 0)
            return True
        return False

    def _routes_allowed(self) -> bool:
        return len(self._state.routes_entered) < self._policy.turn.max_fallback_routes

    def _listed(self, view: StateView, now: float) -> Sequence[str]:
        state = self._state
        if not state.attempts:
            return after_refusal(self._origin, refuse(self._origin, state.request, view, now))
        return fallback_list(self._policy.fallback, state.attempts[-1].cls)

    def _enter(self, resolved: Resolved, tier: int) -> None:
        state = self._state
        self.ground.at = resolved
        state.at_route, state.tier = resolved.route.id, tier
        state.round, state.round_attempts = 1, 0
        state.mood = Mood.FRESH
        state.tried, state.queue = [], []

    def _end(self, view: StateView, now: float, rng: Random) -> Step:
        state = self._state
        refusal = refuse(self._origin, state.request, view, now)
        if not state.attempts:
            return self._last_resort(refusal, view, now, rng) or Halt(
                None if refusal.kind == UNSUPPORTED else HaltReason.EXHAUSTED,
                refusal,
                retry_after_s=refusal.retry_after_s,
            )
        if state.bounded:
            return self._halt(HaltReason.ATTEMPT_BOUND, refusal)
        if state.attempts[-1].cls in OWN_LIST_ONLY:
            return self._halt(HaltReason.INELIGIBLE_FAILURE)
        return self._halt(HaltReason.EXHAUSTED, refusal)

    def _last_resort(
        self, refusal: Refusal, view: StateView, now: float, rng: Random
    ) -> Step | None:
        """What the route's ``when_exhausted`` still allows."""
        state, route = self._state, self._origin.route
        if refusal.kind == UNSUPPORTED:
            return None
        if route.when_exhausted is WhenExhausted.LEAST_BAD:
            found = pick(self._origin, state.request, view, now, rng)
            fresh = isinstance(found, Pick) and found.candidate.key not in state.tried
            if isinstance(found, Pick) and found.least_bad and fresh:
                self._enter(self._origin, found.tier)
                return self.ground.as_try(found)
        if route.when_exhausted is WhenExhausted.WAIT:
            return self._await_recovery(refusal, now)
        return None

    def _await_recovery(self, refusal: Refusal, now: float) -> Wait | None:
        state = self._state
        if refusal.recovers_at is None:
            return None
        if state.recovery_limit is None:
            state.recovery_limit = now + self._origin.route.max_wait_s
        until = max(refusal.recovers_at, now + MIN_RECOVERY_S)
        if until > state.recovery_limit:
            return None
        if state.deadline_at is not None and until >= state.deadline_at:
            return None
        self._enter(self._origin, 0)
        state.routes_left, state.routes_entered = None, []
        return self._wait(until, math.ceil((until - now) * 1000), "recovery")

    def _halt(self, reason: HaltReason, refusal: Refusal | None = None) -> Halt:
        """With the last attempt's evidence; a spent retry says how often its target was tried."""
        state = self._state
        last = state.attempts[-1]
        message = last.message
        if state.retriable:
            count = sum(a.target == last.target and a.route == last.route for a in state.attempts)
            message = after_attempts(message, count)
        wait_s = refusal.retry_after_s if refusal is not None else None
        return Halt(reason, None, last.cls, last.status, message, wait_s)
