"""Why this one: every candidate with every reason, and the choice that select would make.

Reads the snapshot, the state and the request; reserves nothing and resolves no secret.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from routeradmin.engine.describe import runtime_json
from routeradmin.engine.eligibility import all_rejections, ruling
from routeradmin.engine.fallback_routes import followed
from routeradmin.engine.intents import Decision
from routeradmin.engine.objects import Capabilities, Rule
from routeradmin.engine.refusal import Refusal, refuse
from routeradmin.engine.request import SelectRequest
from routeradmin.engine.resolve import Resolved
from routeradmin.engine.select import Pick, pick, resolve_for
from routeradmin.engine.snapshot import Candidate, Snapshot
from routeradmin.engine.state import CandidateKey, StateView

_DECLARED = (
    "tools",
    "tool_choice",
    "temperature",
    "top_p",
    "reasoning_efforts",
    "context_window",
    "max_output_tokens",
    "vision",
    "audio",
    "embeddings",
    "json_schema",
)


@dataclass(frozen=True, slots=True)
class Explained:
    """One candidate with every reason against it; none means it may be used."""

    candidate: Candidate
    rejections: tuple[str, ...]
    runtime: dict[str, Any]

    def as_json(self) -> dict[str, Any]:
        candidate, deployment = self.candidate, self.candidate.deployment
        credential = candidate.credential
        return {
            "target_id": candidate.target.id,
            "serving_model_id": deployment.id,
            "credential_id": credential.id,
            "position": candidate.target.position,
            "provenance": provenance(candidate),
            "auth_kind": credential.auth_kind.value,
            "billing_kind": credential.billing_kind.value,
            "capabilities": capabilities_json(deployment.capabilities),
            "rejections": list(self.rejections),
            "runtime": self.runtime,
        }


@dataclass(frozen=True, slots=True)
class Further:
    """A fallback route of the policy, and how many of its candidates may be used now."""

    resolved: Resolved
    usable: int
    candidates: int

    def as_json(self) -> dict[str, Any]:
        route = self.resolved.route
        return {
            "route_id": route.id,
            "alias": route.alias,
            "usable": self.usable,
            "candidates": self.candidates,
        }


@dataclass(frozen=True, slots=True)
class Explanation:
    """The whole answer. ``chosen`` is what select would answer now with the same draws, ``further``
    where a turn goes on when that is nobody."""

    resolved: Resolved
    input_tokens: int | None
    chosen: Pick | Refusal
    targets: tuple[Explained, ...]
    rule: Rule | None = None
    request: SelectRequest | None = None
    decision: Decision | None = None
    affinity: Mapping[str, Any] | None = None
    further: tuple[Further, ...] = ()

    @property
    def winner(self) -> CandidateKey | None:
        return self.chosen.candidate.key if isinstance(self.chosen, Pick) else None

    def as_json(self) -> dict[str, Any]:
        route, snapshot = self.resolved.route, self.resolved.snapshot
        best = self.chosen.candidate if isinstance(self.chosen, Pick) else None
        return {
            "route_id": route.id,
            "alias": route.alias,
            "config_digest": snapshot.config_digest,
            "revision": snapshot.revision,
            "input_tokens": self.input_tokens,
            "selected_target_id": None if best is None else best.target.id,
            "selected_credential_id": None if best is None else best.credential.id,
            "targets": [target.as_json() for target in self.targets],
            **self._circumstances(),
        }

    def _circumstances(self) -> dict[str, Any]:
        """Members that are there only where there is something to say."""
        found: dict[str, Any] = {}
        if self.decision is not None:
            found["intent"] = self.decision.as_json()
        if self.rule is not None:
            found["rule"] = {"id": self.rule.id, "only": list(self.rule.only)}
        if self.request is not None and self.request.preferences is not None:
            found["preferences"] = self.request.preferences.as_json(self.resolved.route)
        if self.affinity is not None:
            found["affinity"] = dict(self.affinity)
        if isinstance(self.chosen, Pick) and self.chosen.note:
            found["selector"] = {"strategy": self.resolved.route.strategy, "note": self.chosen.note}
        if self.further:
            found["fallback_routes"] = [one.as_json() for one in self.further]
        return found


def explain(
    snapshot: Snapshot,
    name: str,
    request: SelectRequest,
    view: StateView,
    now: float,
    rng: Random,
    *,
    prefer: CandidateKey | None = None,
) -> Explanation:
    """Explain a request for ``name``. Draws from ``rng`` exactly as select would.

    Raises ModelNotFound.
    """
    resolved = resolve_for(snapshot, name, request, view, now)
    return explain_route(resolved, request, view, now, rng, prefer=prefer)


def explain_route(
    resolved: Resolved,
    request: SelectRequest,
    view: StateView,
    now: float,
    rng: Random,
    *,
    prefer: CandidateKey | None = None,
) -> Explanation:
    """``explain`` where the route is known already."""
    chosen, further = first_step(resolved, request, view, now, rng, prefer=prefer)
    targets = tuple(
        Explained(candidate, reasons, runtime_json(candidate, view.of(candidate), now))
        for candidate, reasons in all_rejections(resolved.route, request, view, now)
    )
    rule = ruling(resolved.route, request, now)
    return Explanation(
        resolved, request.input_tokens, chosen, targets, rule, request, further=further
    )


def first_step(
    resolved: Resolved,
    request: SelectRequest,
    view: StateView,
    now: float,
    rng: Random,
    *,
    prefer: CandidateKey | None = None,
) -> tuple[Pick | Refusal, tuple[Further, ...]]:
    """What a turn does first on this route, and where it goes on when that is nothing.

    Fallback routes come before a route's last resort: the least bad is a choice only where none
    of them has anything to use.
    """
    chosen = pick(resolved, request, view, now, rng, prefer=prefer)
    if isinstance(chosen, Pick) and not chosen.least_bad:
        return chosen, ()
    refusal = chosen if isinstance(chosen, Refusal) else refuse(resolved, request, view, now)
    routes = followed(resolved, request, refusal)
    further = tuple(_further(one, request, view, now) for one in routes)
    return (refusal if any(one.usable for one in further) else chosen), further


def _further(resolved: Resolved, request: SelectRequest, view: StateView, now: float) -> Further:
    found = all_rejections(resolved.route, request, view, now)
    return Further(resolved, sum(not reasons for _, reasons in found), len(found))


def provenance(candidate: Candidate) -> dict[str, str]:
    """Where an answer of this candidate comes from."""
    deployment = candidate.deployment
    return {
        "protocol": deployment.protocol,
        "provider": deployment.provider.id,
        "account": candidate.credential.id,
        "endpoint": deployment.endpoint.id,
        "model": deployment.model.id,
        "binding_revision": candidate.binding_revision,
    }


def capabilities_json(can: Capabilities) -> dict[str, Any]:
    """What is declared, in the catalog's order; what is not declared is left out."""
    found = {name: getattr(can, name) for name in _DECLARED}
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in found.items()
        if value is not None
    }
