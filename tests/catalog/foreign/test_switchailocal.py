"""switchAILocal and CLIProxyAPI files become drafts that say what they leave out."""

from __future__ import annotations

import pytest

from routeradmin.catalog.files.draft import Draft
from tests.catalog.foreign.drafts import draft_of, places, tiers


@pytest.fixture(scope="module")
def draft() -> Draft:
    return draft_of("switchailocal.yaml")


def test_aliases_and_prefixes_become_routes_over_one_deployment_per_upstream_name(
    draft: Draft,
) -> None:
    found = tiers(draft)

    assert list(found) == ["zai/glm", "glm", "zai/glm/deep", "glm/deep", "t-1", "x"]
    assert found["glm"] == found["zai/glm"] == [(0, "zai-glm-5"), (0, "zai-glm-5-2")]


def test_keys_that_differ_in_nothing_are_credentials_of_one_deployment(draft: Draft) -> None:
    first, second = draft.document.serving_models[:2]
    proxies = {one.id: one.proxy for one in draft.document.endpoints}

    assert first.account_ids == ("zai-key-001", "zai-key-002")
    assert second.account_ids == ()
    assert proxies[first.endpoint_id] is None
    assert proxies[second.endpoint_id] == "http://proxy.example:3128"
    assert first.capabilities.context_window == 128000
    assert first.capabilities.vision is True


def test_a_higher_priority_is_an_earlier_tier(draft: Draft) -> None:
    assert tiers(draft)["x"] == [(0, "claude-claude-x-2"), (1, "claude-claude-x")]
    assert next(one for one in draft.document.routes if one.alias == "x").fallback_enabled


def test_the_sources_words_become_policy_waits_and_affinity(draft: Draft) -> None:
    document = draft.document
    policy = document.policies[0]

    assert policy.retry.max_attempts == 4
    assert policy.retry.stream_max_attempts == 3
    assert policy.turn.rotate is False
    assert document.defaults.strategy == "fill_first"
    assert document.defaults.auto_priority == ("glm",)
    assert {(one.when_exhausted, one.max_wait_s) for one in document.routes} == {("wait", 30)}
    assert {one.affinity_ttl_s for one in document.routes} == {1800}


def test_templates_and_placeholders_are_no_keys_and_nothing_shows(draft: Draft) -> None:
    assert set(draft.secrets) == {
        "zai-key-001",
        "zai-key-002",
        "zai-key-003",
        "claude-key-001",
        "codex-key-001",
    }
    assert "made-up" not in repr(draft)
    notes = {one.place: one.detail for one in draft.notes}
    assert "template" in notes["/openai-compatibility/1/api-key-entries/0/api-key"]
    assert "placeholder" in notes["/claude-api-key/1/api-key"]
    assert "lines 3 and 61" in notes["/remote-management"]


def test_switched_off_keys_are_disabled_and_unknown_models_are_told(draft: Draft) -> None:
    accounts = {one.id: one.admin_state for one in draft.document.accounts}

    assert accounts["codex-key-001"] == "disabled"
    assert {"/codex-api-key/0", "/codex-api-key/0/models"} <= places(draft.notes)
    assert "/claude-api-key/1/models/1" in places(draft.notes)


def test_everything_without_a_counterpart_is_listed_with_its_place(draft: Draft) -> None:
    assert places(draft.unmapped) == {
        "/host",
        "/port",
        "/remote-management",
        "/api-keys/0",
        "/streaming/keepalive-seconds",
        "/quota-exceeded/switch-preview-model",
        "/auto-model-priority/1",
        "/claude-api-key/1/websockets",
        "/codex-api-key/0/priority",
    }


def test_the_layout_of_version_8_keeps_provider_groups_under_api_keys() -> None:
    draft = draft_of("switchailocal-v8.yaml")

    assert list(tiers(draft)) == ["zen/kimi"]
    assert draft.document.defaults.strategy == "simple_shuffle"
    assert "/api-keys/mystery" in places(draft.unmapped)
    assert draft.secrets == {}
