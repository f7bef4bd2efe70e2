"""What an explanation says, field by field."""

from __future__ import annotations

import json
from random import Random

import pytest

from routeradmin.engine.describe import runtime_json, utc_text
from routeradmin.engine.errors import ModelNotFound
from routeradmin.engine.explain import Explanation, explain
from routeradmin.engine.objects import (
    AuthKind,
    BillingKind,
    Capabilities,
    Credential,
    Deployment,
    Endpoint,
    Model,
    Provider,
)
from routeradmin.engine.request import SelectRequest
from routeradmin.engine.snapshot import Snapshot
from tests.engine.world import ASK, NOW, World, asking, catalog, deployment, route

LAB = Provider("my-lab", "self-hosted")
LOCAL = Credential("local", "my-lab", AuthKind.ANONYMOUS, BillingKind.SELF_HOSTED)
REMOTE = Credential("remote", "my-lab", AuthKind.BEARER, BillingKind.METERED, "lab-llm-token")
OFF, ON = (False,) * 4, (True,) * 4


def coding(fallback_enabled: bool = False) -> Snapshot:
    """A small local model first, a large remote one behind it."""
    small = Deployment(
        "local-small",
        LAB,
        Endpoint("local-vllm", "local", "http://127.0.0.1:8000/v1/"),
        Model("small", "example/Small-Model"),
        "chat-completions",
        (LOCAL,),
        capabilities=Capabilities(*OFF, (), 4096, 1024),
    )
    large = Deployment(
        "remote-large",
        LAB,
        Endpoint("remote-models", "remote", "https://models.example.invalid/v1/"),
        Model("large", "example/Large-Model"),
        "responses",
        (REMOTE,),
        capabilities=Capabilities(*ON, ("medium", "high"), 32768, 8192),
    )
    spec = route(
        ["local-small"],
        ["remote-large"],
        id="coding",
        alias="code",
        fallback_enabled=fallback_enabled,
    )
    bindings = {("local-small", "local"): "1a6e", ("remote-large", "remote"): "5dd6"}
    return catalog([small, large], spec, bindings=bindings)


def explained(snapshot: Snapshot, request: SelectRequest) -> Explanation:
    return explain(snapshot, "code", request, World(snapshot).store, NOW, Random(1))


def test_the_shipped_example_is_explained_whole() -> None:
    request = SelectRequest("code", input_tokens=512, max_output_tokens=256)
    found = explained(coding(), request).as_json()
    runtime = found["targets"][0].pop("runtime")
    found["targets"][1].pop("runtime")
    assert found == {
        "route_id": "coding",
        "alias": "code",
        "config_digest": "digest",
        "revision": 1,
        "input_tokens": 512,
        "selected_target_id": "local-small",
        "selected_credential_id": "local",
        "targets": [
            {
                "target_id": "local-small",
                "serving_model_id": "local-small",
                "credential_id": "local",
                "position": 0,
                "provenance": {
                    "protocol": "chat-completions",
                    "provider": "my-lab",
                    "account": "local",
                    "endpoint": "local-vllm",
                    "model": "small",
                    "binding_revision": "1a6e",
                },
                "auth_kind": "anonymous",
                "billing_kind": "self-hosted",
                "capabilities": {
                    "tools": False,
                    "tool_choice": False,
                    "temperature": False,
                    "top_p": False,
                    "reasoning_efforts": [],
                    "context_window": 4096,
                    "max_output_tokens": 1024,
                },
                "rejections": [],
            },
            {
                "target_id": "remote-large",
                "serving_model_id": "remote-large",
                "credential_id": "remote",
                "position": 1,
                "provenance": {
                    "protocol": "responses",
                    "provider": "my-lab",
                    "account": "remote",
                    "endpoint": "remote-models",
                    "model": "large",
                    "binding_revision": "5dd6",
                },
                "auth_kind": "bearer",
                "billing_kind": "metered",
                "capabilities": {
                    "tools": True,
                    "tool_choice": True,
                    "temperature": True,
                    "top_p": True,
                    "reasoning_efforts": ["medium", "high"],
                    "context_window": 32768,
                    "max_output_tokens": 8192,
                },
                "rejections": ["fallback-disabled"],
            },
        ],
    }
    assert runtime == {
        "state": "healthy",
        "active": 0,
        "cooldown": None,
        "rpm": {"used": 0, "limit": None, "resets_at": utc_text(NOW + 60)},
        "tpm": {"used": 0, "limit": None, "resets_at": utc_text(NOW + 60)},
    }


def test_temperature_needs_the_second_target_and_so_fallback() -> None:
    request = SelectRequest("code", input_tokens=512, temperature=0.2)
    off = explained(coding(), request)
    assert [list(target.rejections) for target in off.targets] == [
        ["temperature"],
        ["fallback-disabled"],
    ]
    assert off.as_json()["selected_target_id"] is None
    assert off.as_json()["selected_credential_id"] is None
    on = explained(coding(fallback_enabled=True), request)
    assert on.as_json()["selected_target_id"] == "remote-large"


def test_an_explanation_holds_no_secret_and_is_plain_json() -> None:
    text = json.dumps(explained(coding(), SelectRequest("code", input_tokens=5)).as_json())
    assert "lab-llm-token" not in text


def test_extension_capabilities_show_only_where_declared() -> None:
    world = World(catalog([deployment("a", capabilities=Capabilities(vision=True))]))
    found = explain(world.snapshot, "m", ASK, world.store, NOW, world.rng).as_json()
    assert found["targets"][0]["capabilities"] == {"vision": True}


def test_explaining_reserves_nothing() -> None:
    world = World(catalog([deployment("a"), deployment("b")]))
    seq = world.store.seq
    explain(world.snapshot, "m", ASK, world.store, NOW, world.rng)
    assert world.store.seq == seq
    assert world.state("a").active == 0


def test_a_preference_is_explained_as_the_choice() -> None:
    world = World(catalog([deployment("a"), deployment("b")]))
    key = world.state("b").key
    found = explain(world.snapshot, "m", ASK, world.store, NOW, world.rng, prefer=key)
    assert found.winner == key


def test_an_unknown_name_is_refused() -> None:
    world = World(catalog([deployment("a")]))
    with pytest.raises(ModelNotFound):
        explain(world.snapshot, "nope", ASK, world.store, NOW, world.rng)


def test_the_runtime_of_a_busy_cooling_candidate() -> None:
    world = World(catalog([deployment("a", rpm_limit=9, max_parallel_requests=4)]))
    world.now += 10
    world.set("a", active=2, window=int(NOW // 60), rpm_used=3, tpm_used=900)
    world.cool("a", 1.8)
    candidate = world.resolved().route.candidates[0]
    assert runtime_json(candidate, world.state("a"), world.now) == {
        "state": "cooling",
        "active": 2,
        "cooldown": {
            "class": "rate-limited",
            "status": None,
            "message": "",
            "since": "2027-01-15T08:00:10.000Z",
            "until": "2027-01-15T08:00:11.800Z",
            "remaining_s": 1.8,
            "level": 1,
            "set_by": "result",
        },
        "rpm": {"used": 3, "limit": 9, "resets_at": "2027-01-15T08:01:00.000Z"},
        "tpm": {"used": 900, "limit": None, "resets_at": "2027-01-15T08:01:00.000Z"},
    }
    later = runtime_json(candidate, world.state("a"), world.now + 60)
    assert (later["cooldown"], later["rpm"]["used"], later["state"]) == (None, 0, "recovering")


def test_requests_compare_by_what_they_ask() -> None:
    assert asking(input_tokens=10) == ASK
    assert asking(input_tokens=11) != ASK
    assert asking(input_tokens=None, max_output_tokens=5).estimate == 5
