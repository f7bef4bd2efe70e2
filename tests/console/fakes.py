"""A state store that tests write directly, and a catalog small enough to read at a glance."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from routeradmin.engine.objects import (
    AuthKind,
    BillingKind,
    Credential,
    Deployment,
    Endpoint,
    Model,
    Provider,
    Target,
)
from routeradmin.engine.snapshot import Candidate, Route, Snapshot, Tier
from routeradmin.engine.state import CandidateKey, CandidateState, Change


class FakeStore:
    """The reading half of a state store; ``touch`` counts as a visible change."""

    epoch = "e1"

    def __init__(self) -> None:
        self.seq = 1
        self.known: dict[CandidateKey, CandidateState] = {}
        self.listeners: list[Callable[[Sequence[Change]], None]] = []

    def states(self) -> list[CandidateState]:
        return list(self.known.values())

    def touch(self, deployment: str, credential: str, **fields: Any) -> CandidateState:
        key = CandidateKey(deployment, credential)
        state = self.known.setdefault(key, CandidateState(key))
        for name, value in fields.items():
            setattr(state, name, value)
        self.seq += 1
        return state

    def listen(self, listener: Callable[[Sequence[Change]], None]) -> None:
        self.listeners.append(listener)

    def tell(self, *changes: Change) -> None:
        for listener in self.listeners:
            listener(changes)


@dataclass
class FakeCurrent:
    snapshot: Snapshot


@dataclass(eq=False)
class FakeRuntime:
    store: FakeStore
    current: FakeCurrent
    clock: Callable[[], float] = time.time
    keys: Any = None

    def degraded(self) -> Sequence[str]:
        return ()

    def processes(self) -> Sequence[dict[str, Any]]:
        return [{"id": "p1", "revision": self.current.snapshot.revision, "lag_ms": 0}]


def deployment(uid: str, provider: str = "openai", keys: int = 1, **fields: Any) -> Deployment:
    vendor = Provider(provider, "commercial")
    credentials = tuple(
        Credential(f"{provider}-key-{chr(97 + n)}", provider, AuthKind.BEARER, BillingKind.METERED)
        for n in range(keys)
    )
    endpoint = Endpoint(f"{provider}-api", credentials[0].id, f"https://{provider}.example/v1/")
    return Deployment(
        uid, vendor, endpoint, Model(uid, uid), "chat-completions", credentials, **fields
    )


def route(uid: str, *tiers: Sequence[Deployment], **fields: Any) -> Route:
    made = []
    for position, members in enumerate(tiers):
        candidates = [
            Candidate(
                CandidateKey(member.id, credential.id),
                Target(f"{uid}-{member.id}", member, position),
                credential,
                member.id,
                "",
            )
            for member in members
            for credential in member.credentials
        ]
        made.append(Tier(position, tuple(candidates)))
    return Route(uid, uid, tuple(made), fields.pop("strategy", "simple_shuffle"), **fields)


def snapshot(
    routes: Sequence[Route], spare: Sequence[Deployment] = (), revision: int = 118
) -> Snapshot:
    members = {
        candidate.deployment.id: candidate.deployment
        for one in routes
        for tier in one.tiers
        for candidate in tier.candidates
    }
    return Snapshot(
        revision,
        "d" * 64,
        routes={one.id: one for one in routes},
        names={one.alias: one.id for one in routes},
        deployments=members | {member.id: member for member in spare},
    )
