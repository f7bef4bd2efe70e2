"""Small catalogs and scripted upstreams for turns, driven on a clock of their own."""

from __future__ import annotations

import asyncio
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
from routeradmin.engine.outcome import AttemptFacts, Ending, classify
from routeradmin.engine.policy import DEFAULT_POLICY, Policy
from routeradmin.engine.request import SelectRequest
from routeradmin.engine.resolve import resolve
from routeradmin.engine.snapshot import Snapshot
from routeradmin.engine.state import CandidateKey, CandidateState, Cooldown, Grant, Outcome
from routeradmin.engine.turn import Turn
from routeradmin.engine.turn_state import TurnState
from routeradmin.engine.turn_steps import Halt, Step, Try, Wait

T0 = 1_800_000_000.0
ASK = SelectRequest("m", input_tokens=10)


def deployment(id: str, *keys: str, subscription: bool = False, **facts: Any) -> Deployment:
    auth = AuthKind.SUBSCRIPTION_OAUTH if subscription else AuthKind.BEARER
    billing = BillingKind.SUBSCRIPTION if subscription else BillingKind.METERED
    credentials = tuple(Credential(key, "p", auth, billing, f"{key}-ref") for key in keys or ("k",))
    return Deployment(
        id=id,
        provider=Provider("p", "lab"),
        endpoint=Endpoint("e", credentials[0].id, "https://models.example.invalid/v1/"),
        model=Model("mm", "up"),
        protocol="chat-completions",
        credentials=credentials,
        **facts,
    )


def route(*tiers: Sequence[str], id: str = "r", alias: str = "m", **facts: Any) -> RouteSpec:
    """A route over tiers of deployment ids, fill-first and with fallback on unless said."""
    facts = {"strategy": "fill_first", "fallback_enabled": True, **facts}
    targets = [
        TargetSpec(f"{id}-{name}-{position}", name, position)
        for position, names in enumerate(tiers)
        for name in names
    ]
    return RouteSpec(id, alias, targets, **facts)


def catalog(
    deployments: Sequence[Deployment], *routes: RouteSpec, policy: Policy = DEFAULT_POLICY
) -> Snapshot:
    """Every route has ``policy`` unless it names one of its own."""
    return compile_snapshot(
        revision=1,
        config_digest="digest",
        deployments=deployments,
        routes=[replace(r, policy_id=r.policy_id or "used") for r in routes],
        policies={"used": replace(policy, id="used"), "default": DEFAULT_POLICY},
    )


def ended(said: int | str | Outcome, **more: Any) -> Outcome:
    """``200``, a status, ``silence``, ``refused`` (connection), ``broken``, ``hung-up``, or a
    string code that comes with a 400."""
    if isinstance(said, Outcome):
        return said
    endings = {
        "silence": Ending.UNANSWERED,
        "refused": Ending.NOT_CONNECTED,
        "broken": Ending.BROKEN,
        "hung-up": Ending.CANCELLED,
        "late": Ending.DEADLINE,
    }
    replay = more.pop("replay", True)
    if "after" in more:
        more["headers"] = {"Retry-After": str(more.pop("after"))}
    if said == 200:
        facts = AttemptFacts(Ending.SUCCESS, 200, **more)
    elif isinstance(said, int):
        facts = AttemptFacts(Ending.ANSWERED, said, **more)
    elif said in endings:
        facts = AttemptFacts(endings[said], None if said != "broken" else 200, **more)
    else:
        facts = AttemptFacts(Ending.ANSWERED, 400, document={"error": {"code": said}}, **more)
    return classify(facts, now=T0, replay_unanswered=replay)


class Drive:
    """Carries turns through scripted upstreams; waiting moves the clock and nothing else does."""

    def __init__(self, snapshot: Snapshot, script: Mapping[str, Sequence[Any]] = {}) -> None:
        self.snapshot = snapshot
        self.store = MemoryStore()
        self.store.bind(snapshot)
        self.script = {name: list(outcomes) for name, outcomes in script.items()}
        self.now = T0
        self.rng = Random(7)
        self.calls: list[str] = []
        self.waits: list[float] = []
        self.turn: Turn | None = None
        self.admit: Any = None
        self.round_trip = True  # through JSON between steps, as a store would keep it

    def start(self, model: str = "m", request: SelectRequest = ASK, **how: Any) -> Turn:
        resolved = resolve(self.snapshot, model)
        asked = replace(request, model=model)
        self.turn = Turn.start("t1", resolved, asked, self.now, **how)
        return self.turn

    def run(self, model: str = "m", **how: Any) -> Halt:
        self.calls, self.waits = [], []
        self.start(model, **how)
        while True:
            step = self.step()
            if isinstance(step, Halt):
                return step

    def step(self) -> Step:
        """One decision and what follows from it."""
        turn = self._kept()
        step = turn.next(self.store, self.now, self.rng, admit=self.admit)
        if isinstance(step, Wait):
            self.waits.append(round(step.until - self.now, 6))
            self.now = step.until
        if isinstance(step, Try):
            self.attempt(step)
        return step

    def attempt(self, step: Try) -> None:
        assert self.turn is not None
        candidate = step.candidate
        route_id = step.resolved.route.id
        grant = Grant(candidate, "test", 60, 0, route_id, cursor=step.cursor)
        lease = asyncio.run(self.store.reserve(grant, self.now))
        if lease is None:
            self.turn.lost(candidate.key)
            return
        self.turn.begin(step, self.now)
        self.calls.append(str(candidate.key))
        outcome = self._next_outcome(candidate.key)
        policy = self.turn.policy
        settled = asyncio.run(self.store.settle(lease.id, outcome, policy, self.now))
        self.turn.tell(outcome, self.now, settlement=settled)

    def state(self, deployment_id: str, key: str = "k") -> CandidateState:
        wanted = CandidateKey(deployment_id, key)
        return next(state for state in self.store.states() if state.key == wanted)

    def cool(self, deployment_id: str, seconds: float, cls: str = "rate-limited", key: str = "k"):
        until = self.now + seconds
        state = self.store._local.at(CandidateKey(deployment_id, key))
        state.cooldown = Cooldown(cls, self.now, until, 1, "result")
        state.cooldown_until = until
        self.store._local.review(state, self.now)

    def _next_outcome(self, key: CandidateKey) -> Outcome:
        outcomes = self.script.get(str(key)) or self.script.get(key.deployment) or [200]
        said = outcomes.pop(0) if len(outcomes) > 1 else outcomes[0]
        if isinstance(said, tuple):
            return ended(said[0], **said[1])
        return ended(said)

    def _kept(self) -> Turn:
        assert self.turn is not None
        if self.round_trip:
            kept = TurnState.from_json(self.turn.state.as_json())
            self.turn = Turn.resume(kept, self.snapshot)
        return self.turn
