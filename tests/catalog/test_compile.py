"""A document becomes the snapshot that the engine chooses from."""

from __future__ import annotations

import time

from routeradmin.catalog.compile import compile
from routeradmin.engine.objects import AdminState, ProbeMode
from tests.catalog.documents import changed, document, example, small


def test_the_example_compiles_with_its_digests_tiers_and_bindings() -> None:
    snapshot = compile(example(), 3)
    route = snapshot.routes["coding"]

    assert snapshot.revision == 3
    assert snapshot.config_digest.startswith("1365b05f")
    assert snapshot.names == {"code": "coding"}
    assert [[str(one.key) for one in tier.candidates] for tier in route.tiers] == [
        ["local-small/local"],
        ["remote-large/remote"],
    ]
    assert [one.binding_revision[:8] for one in route.candidates] == ["1a6ea40f", "5dd662a7"]
    assert not route.fallback_enabled
    assert route.strategy == "simple_shuffle"


def test_several_credentials_are_several_candidates_ordered_by_target_then_credential() -> None:
    values = changed(
        small(),
        serving_models__0__account_ids=["metered", "keyed"],
        targets__0__id="z0",
        targets__1__position=0,
    )
    snapshot = compile(document(values), 1, {"keyed": 4})
    tier = snapshot.routes["r"].tiers[0]

    assert [str(one.key) for one in tier.candidates] == [
        "d-free/free",
        "d-metered/keyed",
        "d-metered/metered",
    ]
    assert tier.candidates[1].credential.secret_version == 4
    assert tier.candidates[1].binding_revision != tier.candidates[2].binding_revision


def test_routes_take_strategy_and_policy_from_the_defaults_where_they_state_none() -> None:
    values = changed(
        small(),
        defaults__strategy="ff",
        defaults__policy_id="pol",
        policies__0__retry={"max_attempts": 2},
        policies__0__classify=[{"status": 418, "class": "quota"}],
        routes__1__strategy="cost_based",
    )
    routes = compile(document(values), 1).routes

    assert routes["r"].strategy == "fill_first"
    assert routes["s"].strategy == "priority_based"
    assert routes["r"].policy.retry.max_attempts == 2
    assert routes["r"].policy.classify[0].failure_class == "quota"


def test_deployments_inherit_the_endpoints_probe_and_know_every_protocol_once() -> None:
    values = changed(
        small(),
        endpoints__0__probe={"mode": "models", "interval_s": 10},
        serving_models__5__probe={},
        serving_models__0__protocols=["responses", "chat-completions"],
        serving_models__0__admin_state="draining",
        serving_models__0__drain_until="1970-01-01T00:01:00Z",
    )
    deployments = compile(document(values), 1).deployments

    assert deployments["d-metered"].probe.mode is ProbeMode.MODELS
    assert deployments["d-star"].probe.mode is ProbeMode.OFF
    assert deployments["d-metered"].protocols == ("chat-completions", "responses")
    assert deployments["d-metered"].admin_state is AdminState.DRAINING
    assert deployments["d-metered"].drain_until == 60.0


def test_rules_previews_patterns_and_names_reach_the_snapshot() -> None:
    values = changed(
        small(),
        routes__0__preview=["d-keyed"],
        rules__0__when={"key": "k1", "hours": "22:00-06:00", "header": {"X-Tier": "gold"}},
    )
    snapshot = compile(document(values), 1)
    route = snapshot.routes["r"]

    assert [str(one.key) for one in route.preview] == ["d-keyed/keyed"]
    assert route.rules[0].keys == ("k1",)
    assert route.rules[0].headers == (("x-tier", "gold"),)
    assert snapshot.patterns == (("w-*", "w"),)
    assert snapshot.names["a"] == snapshot.names["chat"] == "r"


def test_a_thousand_deployments_compile_quickly() -> None:
    values = small()
    values["serving_models"] += [
        {**values["serving_models"][0], "id": f"x{n}"} for n in range(1000)
    ]
    values["routes"] += [{"id": f"x{n}", "alias": f"x{n}"} for n in range(300)]
    values["targets"] += [
        {
            "id": f"x{n}-{k}",
            "route_id": f"x{n}",
            "serving_model_id": f"x{n * 3 + k}",
            "position": 0,
        }
        for n in range(300)
        for k in range(4)
    ]
    big = document(values)
    started = time.process_time()

    compile(big, 1)

    assert time.process_time() - started < 3  # ten times what it takes
