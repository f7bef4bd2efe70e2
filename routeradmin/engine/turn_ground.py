"""Where a turn stands: one tier of one route, and what of it this turn may still use."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random

from routeradmin.engine.condition import unhealthy
from routeradmin.engine.eligibility import falls_back, rejections
from routeradmin.engine.objects import AuthKind, BillingKind
from routeradmin.engine.policy import TurnPolicy
from routeradmin.engine.resolve import Resolved
from routeradmin.engine.select import Pick, choose
from routeradmin.engine.snapshot import Candidate
from routeradmin.engine.state import CandidateKey, StateView
from routeradmin.engine.turn_rules import PREVIEWED
from routeradmin.engine.turn_state import Mood, TurnState, rest_name
from routeradmin.engine.turn_steps import Try


class Ground:
    """Chooses among the candidates at hand; ``at`` is the route, the tier is in the state."""

    def __init__(self, state: TurnState, policy: TurnPolicy, at: Resolved) -> None:
        self._state = state
        self._policy = policy
        self.at = at

    def visit(self, step: Try) -> None:
        """An attempt at this candidate has started."""
        state, candidate = self._state, step.candidate
        state.round_attempts += 1
        state.places.setdefault(candidate.deployment.id, self._place(candidate))
        target = self._target(candidate)
        if target not in state.targets:
            state.targets.append(target)
        self.drop(candidate.key)

    def drop(self, key: CandidateKey) -> None:
        """This candidate is out of the round."""
        self._state.tried.append(key)
        if self._state.queue and self._state.queue[0] == key:
            self._state.queue.pop(0)

    def untried(
        self, view: StateView, now: float, rng: Random, prefer: CandidateKey | None
    ) -> Try | None:
        """The last deployment's other credentials in order, then the strategy's pick."""
        state = self._state
        if state.round_attempts and not self._policy.rotate:
            return None
        skip = self._skipped(state.tried)
        for key in self._siblings(skip):
            found = self._pick(view, now, rng, skip, key)
            if found is not None and found.candidate.key == key:
                return self.as_try(found)
        found = self._pick(view, now, rng, skip, None if state.attempts else prefer)
        return None if found is None else self.as_try(found)

    def anyone_at(self, view: StateView, moment: float) -> bool:
        """Whether a new round that starts at ``moment`` would find somebody."""
        # A fixed seed: only whether there is a choice matters, not which.
        return self._pick(view, moment, Random(0), self._skipped(())) is not None

    def _siblings(self, skip: set[CandidateKey]) -> list[CandidateKey]:
        state = self._state
        if not state.round_attempts:
            return []
        deployment = state.attempts[-1].key.deployment
        here = self._candidates()
        return [c.key for c in here if c.key.deployment == deployment and c.key not in skip]

    def _pick(
        self,
        view: StateView,
        now: float,
        rng: Random,
        skip: set[CandidateKey],
        prefer: CandidateKey | None = None,
    ) -> Pick | None:
        """The strategy's choice among what this turn may still visit."""
        forgive = self._forgiven(view, now)
        while True:
            found = choose(
                self.at,
                self._state.request,
                view,
                now,
                rng,
                tier=self._state.tier,
                skip=skip,
                forgive=forgive,
                prefer=prefer,
            )
            if found is None or self._may_visit(found.candidate):
                return found
            skip = {*skip, found.candidate.key}

    def _skipped(self, tried: Iterable[CandidateKey]) -> set[CandidateKey]:
        """Tried, not retriable here, or of a deployment that another place has visited."""
        state = self._state
        skip = {*tried, *state.spent}
        if state.places:
            skip.update(c.key for c in self._candidates() if self._elsewhere(c))
        return skip

    def _elsewhere(self, candidate: Candidate) -> bool:
        place = self._state.places.get(candidate.deployment.id)
        return place is not None and place != self._place(candidate)

    def _may_visit(self, candidate: Candidate) -> bool:
        """Bounded targets, and no way from a subscription to other billing."""
        state = self._state
        if candidate.credential.billing_kind is not BillingKind.SUBSCRIPTION and any(
            attempt.auth_kind == AuthKind.SUBSCRIPTION_OAUTH for attempt in state.attempts
        ):
            return False
        if self._target(candidate) in state.targets:
            return True
        if len(state.targets) < self._policy.max_targets:
            return True
        state.bounded = True
        return False

    def _forgiven(self, view: StateView, now: float) -> set[CandidateKey]:
        """Keys that only this turn's own failures put to rest."""
        rested = self._state.rested
        if not rested:
            return set()
        found = set()
        for candidate in self._candidates():
            until = rested.get(rest_name(candidate.key))
            if until is None:
                continue
            state = view.of(candidate)
            if state.cooldown_until <= until and not unhealthy(state, now):
                found.add(candidate.key)
        return found

    def preview(self, view: StateView, now: float) -> Try | None:
        """The route's preview deployments after a rate limit or quota, once per turn."""
        state, route = self._state, self.at.route
        if not state.preview_done and self._previews_due():
            state.preview_done = True
            state.queue = self._preview_order()
        by_key = {candidate.key: candidate for candidate in route.preview}
        while state.queue:
            candidate = by_key.get(state.queue[0])
            if candidate is not None and self._usable_preview(candidate, view, now):
                return Try(candidate, None, self.at, state.tier)
            state.queue.pop(0)
        return None

    def _previews_due(self) -> bool:
        state, route = self._state, self.at.route
        failed_here = state.mood is not Mood.FRESH and state.round_attempts > 0
        return (
            bool(route.preview)
            and falls_back(route, state.request)
            and failed_here
            and state.attempts[-1].cls in PREVIEWED
        )

    def _preview_order(self) -> list[CandidateKey]:
        """The credentials that were tried, in that order, before the others."""
        used = list(dict.fromkeys(key.credential for key in self._state.tried))
        place = {credential: number for number, credential in enumerate(used)}
        keys = [candidate.key for candidate in self.at.route.preview]
        deployments = list(dict.fromkeys(key.deployment for key in keys))
        return sorted(
            keys,
            key=lambda key: (
                deployments.index(key.deployment),
                place.get(key.credential, len(place)),
            ),
        )

    def _usable_preview(self, candidate: Candidate, view: StateView, now: float) -> bool:
        state = self._state
        if candidate.key in state.tried or candidate.key in state.spent:
            return False
        if self._elsewhere(candidate) or not self._may_visit(candidate):
            return False
        return not rejections(candidate, self.at.route, state.request, view, now)

    def _candidates(self) -> Sequence[Candidate]:
        tiers = self.at.route.tiers
        return tiers[self._state.tier].candidates if self._state.tier < len(tiers) else ()

    def as_try(self, found: Pick) -> Try:
        return Try(
            found.candidate,
            found.cursor,
            self.at,
            found.tier,
            found.least_bad,
            found.note,
            found.ring,
        )

    def _target(self, candidate: Candidate) -> str:
        return f"{self.at.route.id}/{candidate.target.id}"

    def _place(self, candidate: Candidate) -> str:
        route = self.at.route
        preview = route.preview and any(candidate is one for one in route.preview)
        return f"{route.id}/{'preview' if preview else candidate.tier}"
