"""Small catalogs for engine tests: deployments by name, one route over tiers of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from routeradmin.adapters.state_memory import MemoryStore
from routeradmin.engine.compile import RouteSpec, TargetSpec, compile_snapshot
from routeradmin.engine.objects import (
    AuthKind,
    BillingKind,
    Credential,
    Deployment,
    Endpoint,
    Model,
    Provider,
)
from routeradmin.engine.refusal import Refusal
from routeradmin.engine.request import SelectRequest
from routeradmin.engine.resolve import Resolved, resolve
from routeradmin.engine.select import Pick, pick
from routeradmin.engine.snapshot import Defaults, Snapshot
from routeradmin.engine.state import CandidateKey, CandidateState, Cooldown

NOW = 1_800_000_000.0  # the start of a window
ASK = SelectRequest("m", input_tokens=10)


def credential(id: str, provider: str = "p", **facts: Any) -> Credential:
    return Credential(id, provider, AuthKind.BEARER, BillingKind.METERED, f"{id}-secret", **facts)


def deployment(
    id: str,
    *,
    keys: Sequence[str] = ("k",),
    upstream: str = "up",
    provider: str = "p",
    **facts: Any,
) -> Deployment:
    return Deployment(
        id=id,
        provider=Provider(provider, "lab"),
        endpoint=Endpoint("e", keys[0] if keys else "k", "https://models.example.invalid/v1/"),
        model=Model(facts.pop("model", "mm"), upstream),
        protocol=facts.pop("protocol", "chat-completions"),
        credentials=tuple(credential(key, provider) for key in keys),
        **facts,
    )


def route(*tiers: Sequence[str], id: str = "r", alias: str = "m", **facts: Any) -> RouteSpec:
    """A route over tiers of deployment ids; a target is named like its deployment."""
    targets = [
        TargetSpec(name, name, position) for position, names in enumerate(tiers) for name in names
    ]
    return RouteSpec(id, alias, targets, **facts)


def catalog(
    deployments: Sequence[Deployment],
    *routes: RouteSpec,
    aliases: Mapping[str, str] | None = None,
    defaults: Defaults | None = None,
    **facts: Any,
) -> Snapshot:
    return compile_snapshot(
        revision=1,
        config_digest="digest",
        deployments=deployments,
        routes=routes or [route([d.id for d in deployments])],
        aliases=aliases,
        defaults=defaults,
        **facts,
    )


class World:
    """One snapshot served by one memory store, with choices that are granted at once."""

    def __init__(self, snapshot: Snapshot, seed: int = 1) -> None:
        self.snapshot = snapshot
        self.store = MemoryStore()
        self.store.bind(snapshot)
        self.rng = Random(seed)
        self.now = NOW

    def resolved(self, name: str = "m") -> Resolved:
        return resolve(self.snapshot, name)

    def state(self, deployment_id: str, credential_id: str = "k") -> CandidateState:
        return self.store._local.at(CandidateKey(deployment_id, credential_id))

    def set(self, deployment_id: str, credential_id: str = "k", **facts: Any) -> None:
        """Write facts straight into a state, and have the store take notice."""
        state = self.state(deployment_id, credential_id)
        for name, value in facts.items():
            setattr(state, name, value)
        self.store._local.review(state, self.now)

    def cool(
        self, deployment_id: str, seconds: float, cls: str = "rate-limited", key: str = "k"
    ) -> None:
        until = self.now + seconds
        cooldown = Cooldown(cls, self.now, until, 1, "result")
        self.set(deployment_id, key, cooldown=cooldown, cooldown_until=until)

    def look(self, request: SelectRequest = ASK, name: str = "m", **how: Any) -> Pick | Refusal:
        """Pick without reserving."""
        return pick(self.resolved(name), request, self.store, self.now, self.rng, **how)

    def chosen(self, request: SelectRequest = ASK, name: str = "m", **how: Any) -> str:
        """The deployment picked, advancing the cursor as a grant would."""
        found = self.look(request, name, **how)
        assert isinstance(found, Pick), found
        if found.cursor is not None:
            self.store._advance(found.cursor)
        return found.candidate.deployment.id

    def picks(self, count: int, **how: Any) -> list[str]:
        return [self.chosen(**how) for _ in range(count)]

    def refused(self, request: SelectRequest = ASK, name: str = "m") -> Refusal:
        found = self.look(request, name)
        assert isinstance(found, Refusal), found
        return found


def asking(**facts: Any) -> SelectRequest:
    return replace(ASK, **facts)
