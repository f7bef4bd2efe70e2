"""A request that is held to local deployments never gets another, whatever the catalog says."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest

from routeradmin.engine.explain import explain
from routeradmin.engine.objects import Rule, WhenExhausted
from routeradmin.engine.outcome import AttemptFacts, Ending, classify
from routeradmin.engine.policy import FallbackLists, Policy, RetryPolicy
from routeradmin.engine.preferences import Preferences
from routeradmin.engine.resolve import resolve
from routeradmin.engine.select import Pick, pick
from routeradmin.engine.snapshot import Candidate
from routeradmin.engine.turn import Halt, Try, Turn
from tests.engine.anything import STRATEGIES, _deployment, _happen, any_request
from tests.engine.world import NOW, World, catalog, route

CASES = 300
MOST_STEPS = 200


def is_local(candidate: Candidate) -> bool:
    return "local" in candidate.deployment.tags


def any_routes(rng: Random, **facts: Any) -> World:
    """Two routes with previews, rules and fallbacks on each other; some of it is local."""
    listed = [_deployment(rng, f"d{n}") for n in range(rng.randint(2, 6))]
    names = [d.id for d in listed]

    def some() -> list[str]:
        return rng.sample(names, rng.randint(1, len(names)))

    def rules() -> tuple[Rule, ...]:
        return tuple(
            Rule(f"x{n}", n, only=tuple(some()), tools=rng.choice([None, True, False]))
            for n in range(rng.randint(0, 2))
        )

    specs = []
    for id, alias in (("r", "m"), ("f", "n")):
        first = some()
        second = [name for name in some() if name not in first]
        specs.append(
            route(
                *([first, second] if second else [first]),
                id=id,
                alias=alias,
                strategy=rng.choice(STRATEGIES),
                fallback_enabled=rng.random() < 0.8,
                preview=some() if rng.random() < 0.5 else (),
                when_exhausted=rng.choice(list(WhenExhausted)),
                max_wait_s=30.0,
                rules=rules(),
                policy_id="p",
            )
        )
    lists = FallbackLists(general=("f", "r"), rate_limit=("f",), content_policy=("f",))
    policy = Policy("p", retry=RetryPolicy(max_attempts=2), fallback=lists)
    snapshot = catalog(
        listed, *specs, policies={"p": policy}, selectors={"first": lambda *_: 0}, **facts
    )
    world = World(snapshot, rng.randint(0, 1 << 30))
    for spec in snapshot.routes.values():
        for candidate in spec.candidates:
            _happen(rng, world, candidate)
    return world


def wishes(rng: Random) -> Preferences | None:
    names = [f"d{n}" for n in range(6)] + ["p", "elsewhere"]
    return rng.choice(
        [
            None,
            Preferences(order=tuple(rng.sample(names, 2)), allow_fallbacks=rng.random() < 0.5),
            Preferences(only=tuple(rng.sample(names, 3))),
            Preferences(ignore=tuple(rng.sample(names, 2)), sort="price"),
            Preferences(sort="latency", allow_fallbacks=False),
        ]
    )


@pytest.mark.parametrize("seed", range(0, CASES, 10))
def test_no_turn_leaves_local_deployments(seed: int) -> None:
    for number in range(seed, seed + 10):
        rng = Random(number)
        world = any_routes(rng)
        asked = replace(any_request(rng), local_only=True, preferences=wishes(rng))
        asked = replace(asked, opaque=(), exclude=frozenset())
        resolved = resolve(world.snapshot, "m")
        turn = Turn.start("t", resolved, asked, NOW)
        remote = [c.key for c in resolved.route.candidates if not is_local(c)]
        drive(turn, world, rng, rng.choice([None, *remote]))


def drive(turn: Turn, world: World, rng: Random, prefer: object) -> None:
    now = NOW
    for _ in range(MOST_STEPS):
        step = turn.next(world.store, now, rng, prefer=prefer)  # type: ignore[arg-type]
        if isinstance(step, Halt):
            return
        if not isinstance(step, Try):
            now = step.until
            continue
        assert is_local(step.candidate), step
        turn.begin(step, now)
        facts = rng.choice(
            [
                AttemptFacts(Ending.ANSWERED, 429),
                AttemptFacts(Ending.ANSWERED, 503),
                AttemptFacts(Ending.NOT_CONNECTED),
                AttemptFacts(Ending.ANSWERED, 402),
            ]
        )
        turn.tell(classify(facts, (), now=now), now)
    raise AssertionError("the turn did not end")


@pytest.mark.parametrize("seed", range(0, CASES, 10))
def test_no_choice_and_no_explanation_names_another_as_usable(seed: int) -> None:
    for number in range(seed, seed + 10):
        rng = Random(number)
        world = any_routes(rng)
        asked = replace(any_request(rng), local_only=True, preferences=wishes(rng))
        resolved = resolve(world.snapshot, "m")
        remote = [c.key for c in resolved.route.candidates if not is_local(c)]
        prefer = rng.choice([None, *remote])
        found = pick(resolved, asked, world.store, NOW, rng, prefer=prefer)
        assert not isinstance(found, Pick) or is_local(found.candidate)
        told = explain(world.snapshot, "m", asked, world.store, NOW, rng)
        for target in told.targets:
            assert is_local(target.candidate) or "rule" in target.rejections


def test_the_cases_are_not_empty() -> None:
    """Some of them must find something local, or the properties above say nothing."""
    found = 0
    for number in range(CASES):
        rng = Random(number)
        world = any_routes(rng)
        asked = replace(any_request(rng), local_only=True, opaque=(), preferences=None)
        found += isinstance(pick(resolve(world.snapshot, "m"), asked, world.store, NOW, rng), Pick)
    assert found > CASES // 20
