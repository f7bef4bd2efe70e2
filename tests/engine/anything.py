"""Any catalog, state and request from a seed: cheap to make by the ten thousand."""

from __future__ import annotations

from random import Random
from typing import Any

from routeradmin.engine import strategies
from routeradmin.engine.objects import AdminState, Capabilities, Deployment, Rule, WhenExhausted
from routeradmin.engine.request import SelectRequest
from routeradmin.engine.snapshot import Candidate
from routeradmin.engine.state import Cooldown, Health
from routeradmin.engine.windows import window
from tests.engine.world import NOW, World, catalog, deployment, route

STRATEGIES = [*sorted(set(strategies.BY_NAME)), "custom:first", "custom:gone"]
WORDS = ("tools", "vision", "audio", "embeddings", "json_schema")


def any_case(seed: int) -> tuple[World, SelectRequest]:
    rng = Random(seed)
    return any_world(rng), any_request(rng)


def any_request(rng: Random) -> SelectRequest:
    one = rng.choice
    facts: dict[str, Any] = {}
    if rng.random() < 0.5:
        facts = {
            "requires": frozenset(rng.sample(WORDS, rng.randint(0, 3))),
            "tool_choice": one([None, "auto", "required"]),
            "temperature": one([None, 0.5]),
            "top_p": one([None, 0.5]),
            "reasoning_effort": one([None, "low", "high"]),
        }
    return SelectRequest(
        "m",
        input_tokens=one([None, rng.randint(0, 120)]),
        max_output_tokens=one([None, rng.randint(1, 70)]),
        exclude=frozenset(one([(), (), ("d0",), ("d1/k0", "d2/k1")])),
        api=one([None, None, "chat-completions", "responses"]),
        needs_secret=one([True, False]),
        local_only=one([False, False, False, True]),
        opaque=one([(), (), (), ("rev",), (None,)]),
        **facts,
    )


def any_world(rng: Random) -> World:
    listed = [_deployment(rng, f"d{n}") for n in range(rng.randint(1, 4))]
    names = [d.id for d in listed]
    cut = rng.randrange(len(names))
    spec = route(
        *([names[:cut], names[cut:]] if cut else [names]),
        strategy=rng.choice(STRATEGIES),
        fallback_enabled=rng.random() < 0.5,
        rules=rng.choice([(), (), (Rule("x", 0, only=("d0", "d1")),)]),
        when_exhausted=rng.choice([WhenExhausted.FAIL, WhenExhausted.LEAST_BAD]),
    )
    snapshot = catalog(
        listed,
        spec,
        selectors={"first": lambda *_: 0},
        missing_secrets=rng.choice([(), ("k0",), ("k1",)]),
        bindings={(d.id, c.id): "rev" for d in listed[:2] for c in d.credentials},
    )
    world = World(snapshot, rng.randint(0, 1 << 30))
    for candidate in snapshot.routes["r"].candidates:
        _happen(rng, world, candidate)
    world.store._cursors["r/0"] = rng.randint(0, 9)
    return world


def _deployment(rng: Random, id: str) -> Deployment:
    one = rng.choice
    limits = [None, None, 0, 1, 2, 3]
    return deployment(
        id,
        keys=[f"k{n}" for n in range(rng.randint(1, 3))],
        capabilities=Capabilities() if rng.random() < 0.5 else _capabilities(rng),
        admin_state=one([AdminState.ENABLED] * 4 + list(AdminState)),
        weight=rng.randint(0, 3),
        priority=rng.randint(0, 2),
        max_parallel_requests=one(limits),
        rpm_limit=one(limits),
        tpm_limit=one([None, 0, 1, 20, 60]),
        tags=one([(), ("local",)]),
    )


def _capabilities(rng: Random) -> Capabilities:
    flags = [rng.choice([None, True, True, False]) for _ in range(8)]
    context, output = rng.choice([(None, None), (None, 30), (100, None), (100, 40), (60, 60)])
    efforts = rng.choice([None, (), ("low",)])
    return Capabilities(*flags[:4], efforts, context, output, *flags[4:])


def _happen(rng: Random, world: World, candidate: Candidate) -> None:
    key, one = candidate.key, rng.choice
    facts: dict[str, Any] = {}
    if rng.random() < 0.5:
        cls = one(["rate-limited", "quota", "transient", "transient", "manual"])
        until = NOW + one([-5.0, 0.0, 5.0, 90.0])
        facts["cooldown"] = Cooldown(cls, NOW - 10, until, 1, "result")
        facts["cooldown_until"] = until
    world.set(
        key.deployment,
        key.credential,
        active=rng.randint(0, 3),
        window=window(NOW) - one([0, 0, 0, 1, -1]),
        rpm_used=rng.randint(0, 3),
        tpm_used=rng.randint(0, 70),
        latency_ema_ms=one([None, 10.0, 20.0, 0.1, 0.3]),
        health=one([Health.HEALTHY] * 4 + list(Health)),
        probe_unhealthy=rng.random() < 0.1,
        **facts,
    )
