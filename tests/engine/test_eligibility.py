"""The rule table: every reason, in its order."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from routeradmin.engine.eligibility import rejections
from routeradmin.engine.objects import AdminState, Capabilities, Rule
from routeradmin.engine.request import SelectRequest
from routeradmin.engine.state import Health
from tests.engine.world import ASK, NOW, World, asking, catalog, deployment, route

NOTHING = Capabilities(False, False, False, False, (), 100, 50, False, False, False, False)
EVERYTHING = SelectRequest(
    "m",
    input_tokens=90,
    max_output_tokens=60,
    requires=frozenset({"tools", "vision", "audio", "embeddings", "json_schema"}),
    tool_choice="required",
    temperature=0.0,
    top_p=1.0,
    reasoning_effort="high",
)


def reasons(world: World, request: SelectRequest = ASK, deployment_id: str = "d") -> list[str]:
    resolved = world.resolved()
    candidate = next(c for c in resolved.route.candidates if c.deployment.id == deployment_id)
    return list(rejections(candidate, resolved.route, request, world.store, world.now))


def one(**facts: Any) -> World:
    return World(catalog([deployment("d", **facts)]))


def able(**facts: Any) -> World:
    return one(capabilities=Capabilities(**facts))


def test_every_static_reason_accumulates_in_order() -> None:
    world = one(capabilities=NOTHING)
    assert reasons(world, EVERYTHING) == [
        "tools",
        "tool-choice",
        "temperature",
        "top-p",
        "reasoning-effort",
        "output-limit",
        "context-window",
        "vision",
        "audio",
        "embeddings",
        "json_schema",
    ]


def test_a_deployment_that_declares_nothing_is_not_checked() -> None:
    assert reasons(one(), replace(EVERYTHING, input_tokens=None)) == []


@pytest.mark.parametrize(
    ("output", "tokens", "expected"),
    [
        (128, 3968, []),
        (128, 3969, ["context-window"]),
        (None, 3072, []),
        (None, 3073, ["context-window"]),
        (None, None, ["input-tokens-unknown"]),
        (1024, 3072, []),
        (1025, 10, ["output-limit"]),
    ],
)
def test_the_window_holds_input_and_output(
    output: int | None, tokens: int | None, expected: list[str]
) -> None:
    world = able(context_window=4096, max_output_tokens=1024)
    request = asking(input_tokens=tokens, max_output_tokens=output)
    assert reasons(world, request) == expected
    assert (world.resolved().route.tiers[0].table(request).candidates == ()) is bool(expected)


def test_a_window_without_a_declared_output_cap_counts_the_input_alone() -> None:
    world = able(context_window=100)
    assert reasons(world, asking(input_tokens=100)) == []
    assert reasons(world, asking(input_tokens=101)) == ["context-window"]


def test_choosing_tools_automatically_needs_no_tool_choice() -> None:
    assert reasons(able(tool_choice=False), asking(tool_choice="auto")) == []


def test_an_opaque_item_needs_its_own_binding() -> None:
    world = World(catalog([deployment("d")], bindings={("d", "k"): "rev"}))
    assert reasons(world, asking(opaque=("rev", "rev"))) == []
    assert reasons(world, asking(opaque=("rev", "other"))) == ["opaque-state"]
    assert reasons(world, asking(opaque=(None,))) == ["opaque-state"]


@pytest.mark.parametrize(
    ("api", "translatable", "expected"),
    [
        ("chat-completions", True, []),
        ("messages", True, []),
        ("messages", False, ["protocol"]),
        ("responses", True, ["protocol"]),
        ("embeddings", True, []),
    ],
)
def test_the_called_api_is_spoken_or_translated(
    api: str, translatable: bool, expected: list[str]
) -> None:
    world = one(protocols=("chat-completions", "embeddings"))
    assert reasons(world, asking(api=api, translatable=translatable)) == expected


def test_a_later_tier_is_rejected_while_fallback_is_off() -> None:
    two = [deployment("a"), deployment("d", capabilities=NOTHING)]
    world = World(catalog(two, route(["a"], ["d"])))
    assert reasons(world, asking(temperature=1.0)) == ["temperature", "fallback-disabled"]
    world = World(catalog(two, route(["a"], ["d"], fallback_enabled=True)))
    assert reasons(world) == []


def test_administrative_reasons_follow_in_order() -> None:
    hidden = deployment("d", admin_state=AdminState.DISABLED, tags=("cloud",))
    rule = Rule("x", 0, only=("other",))
    world = World(catalog([hidden], route(["d"], rules=[rule]), missing_secrets=["k"]))
    request = asking(exclude=frozenset({"d/k"}), needs_secret=True)
    assert reasons(world, request) == ["rule", "excluded", "disabled", "no-secret"]
    assert reasons(world, asking(exclude=frozenset({"d"}))) == ["rule", "excluded", "disabled"]


def test_local_only_reaches_deployments_tagged_local() -> None:
    assert reasons(one(), asking(local_only=True)) == ["rule"]
    assert reasons(one(tags=("local",)), asking(local_only=True)) == []


@pytest.mark.parametrize("limit_s", [None, 10.0])
def test_a_drain_reads_disabled_once_its_time_is_over(limit_s: float | None) -> None:
    until = None if limit_s is None else NOW + limit_s
    world = one(admin_state=AdminState.DRAINING, drain_until=until)
    assert reasons(world) == ["draining"]
    world.now += 10.0
    assert reasons(world) == (["draining"] if limit_s is None else ["disabled"])


@pytest.mark.parametrize("who", ["provider", "credential", "route"])
def test_what_people_want_of_anything_above_counts(who: str) -> None:
    d = deployment("d")
    spec = route(["d"])
    if who == "provider":
        d = replace(d, provider=replace(d.provider, admin_state=AdminState.DRAINING))
    elif who == "credential":
        off = replace(d.credentials[0], admin_state=AdminState.DRAINING)
        d = replace(d, credentials=(off,))
    else:
        spec = route(["d"], admin_state=AdminState.DRAINING)
    assert reasons(World(catalog([d], spec))) == ["draining"]


def test_runtime_reasons_follow_in_order() -> None:
    world = one(max_parallel_requests=1, rpm_limit=1, tpm_limit=10)
    world.cool("d", 5)
    world.set(
        "d", health=Health.UNHEALTHY, active=1, window=int(NOW // 60), rpm_used=1, tpm_used=10
    )
    assert reasons(world) == [
        "cooling-down",
        "unhealthy",
        "parallel-limit",
        "rpm-limit",
        "tpm-limit",
    ]


def test_a_limit_of_three_means_three() -> None:
    world = one(rpm_limit=3)
    world.set("d", window=int(NOW // 60), rpm_used=2)
    assert reasons(world) == []
    world.set("d", rpm_used=3)
    assert reasons(world) == ["rpm-limit"]
    world.now += 60
    assert reasons(world) == []


@pytest.mark.parametrize(
    ("used", "estimate", "refused"),
    [(0, 500, False), (1, 99, False), (1, 100, True), (99, 1, False), (100, 0, True)],
)
def test_an_estimate_above_the_whole_limit_enters_only_an_empty_window(
    used: int, estimate: int, refused: bool
) -> None:
    world = one(tpm_limit=100)
    world.set("d", window=int(NOW // 60), tpm_used=used)
    assert reasons(world, asking(input_tokens=estimate)) == (["tpm-limit"] if refused else [])


def test_a_limit_of_zero_admits_nothing() -> None:
    for limit in ("rpm_limit", "tpm_limit", "max_parallel_requests"):
        word = {"max_parallel_requests": "parallel-limit"}.get(limit, limit.replace("_", "-"))
        assert reasons(one(**{limit: 0})) == [word]


@pytest.mark.parametrize(
    ("facts", "holds"),
    [
        ({}, True),
        ({"tags": ("eu",)}, True),
        ({"tags": ("eu", "us")}, False),
        ({"keys": ("team", "other")}, True),
        ({"keys": ("other",)}, False),
        ({"headers": (("x-tier", "gold"),)}, True),
        ({"headers": (("x-tier", "tin"),)}, False),
        ({"hours": ("07:00-09:30",)}, True),
        ({"hours": ("08:00-08:00",)}, False),
        ({"hours": ("22:00-08:01",)}, True),
        ({"hours": ("22:00-08:00", "8-9")}, True),
        ({"hours": ("09:00-10:00",)}, False),
        ({"min_input_tokens": 10}, True),
        ({"min_input_tokens": 11}, False),
        ({"max_input_tokens": 10}, True),
        ({"max_input_tokens": 9}, False),
        ({"tools": False}, True),
        ({"tools": True}, False),
    ],
)
def test_a_rule_holds_when_all_its_conditions_do(facts: dict[str, Any], holds: bool) -> None:
    rule = Rule("x", 0, only=("other",), **facts)
    world = World(catalog([deployment("d")], route(["d"], rules=[rule])))
    request = asking(tags=frozenset({"eu"}), key_id="team", headers=(("x-tier", "gold"),), api=None)
    assert reasons(world, request) == (["rule"] if holds else [])


def test_the_first_rule_that_holds_decides() -> None:
    rules = [Rule("b", 1, only=("other",)), Rule("a", 0, only=("d",))]
    world = World(catalog([deployment("d")], route(["d"], rules=rules)))
    assert reasons(world) == []
    assert world.chosen() == "d"


def test_an_unknown_input_is_above_no_minimum_and_below_no_maximum() -> None:
    for facts in ({"min_input_tokens": 1}, {"max_input_tokens": 99}):
        rule = Rule("x", 0, only=("other",), **facts)
        world = World(catalog([deployment("d")], route(["d"], rules=[rule])))
        assert reasons(world, asking(input_tokens=None)) == []
