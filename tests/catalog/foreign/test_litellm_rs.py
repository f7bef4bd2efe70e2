"""litellm-rs gateway files become drafts that say what they leave out."""

from __future__ import annotations

import pytest

from routeradmin.catalog.files import foreign
from routeradmin.catalog.problems import Invalid
from tests.catalog.foreign.drafts import draft_of, places, tiers


def test_each_model_of_a_provider_is_a_deployment_and_equal_names_share_a_tier() -> None:
    draft = draft_of("litellm-rs.yaml")
    deployments = {one.id: one for one in draft.document.serving_models}

    assert tiers(draft) == {
        "gpt-4o": [(0, "openai-primary-gpt-4o"), (0, "mirror-gpt-4o")],
        "gpt-4o-mini": [(0, "openai-primary-gpt-4o-mini")],
    }
    first = deployments["openai-primary-gpt-4o"]
    assert (first.weight, first.priority, first.rpm_limit, first.tpm_limit) == (3, 0, 100, None)
    assert deployments["mirror-gpt-4o"].weight == 1
    assert first.tags == ("primary",)


def test_endpoints_keep_timeout_headers_and_health_check() -> None:
    document = draft_of("litellm-rs.yaml").document
    endpoint = document.endpoints[0]

    assert endpoint.total_timeout_s == 30
    assert endpoint.headers == {"openai-organization": "org-1"}
    assert (endpoint.probe.mode, endpoint.probe.interval_s) == ("models", 15)
    assert endpoint.probe.failure_threshold == 2
    assert document.endpoints[2].base_url == "https://api.anthropic.com/v1/"
    assert [one.admin_state for one in document.providers] == ["enabled", "disabled", "enabled"]


def test_router_settings_become_defaults_policy_and_aliases() -> None:
    document = draft_of("litellm-rs.yaml").document
    policy = document.policies[0]

    assert document.defaults.strategy == "round_robin"
    assert policy.retry.max_attempts == 4
    assert policy.cooldown.allowed_fails == 5
    assert policy.cooldown.transient_base_s == policy.cooldown.unauthorized_s == 60
    assert [(one.name, one.target) for one in document.aliases] == [("small", "gpt-4o-mini")]


def test_what_is_left_out_is_listed_and_what_looks_wrong_is_noted() -> None:
    draft = draft_of("litellm-rs.yaml")

    assert places(draft.unmapped) == {
        "/providers/0/health_check/expected_codes",
        "/providers/0/retry",
        "/router/circuit_breaker/half_open",
        "/router/load_balancer",
        "/storage",
    }
    assert {"/providers/0/tpm", "/providers/2/models"} <= places(draft.notes)
    assert draft.secrets == {"mirror-key-001": "made-up-literal-key-0123456789"}
    assert "made-up" not in repr(draft)


def test_a_config_map_is_unwrapped_and_one_without_gateway_is_refused() -> None:
    draft = draft_of("litellm-rs-configmap.yaml")

    assert draft.document.defaults.strategy == "latency_based"
    assert "/data/gateway.yaml" in places(draft.notes)
    with pytest.raises(Invalid):
        foreign.read(b"kind: ConfigMap\ndata: {other.yaml: 'a: 1'}", "litellm-rs")
