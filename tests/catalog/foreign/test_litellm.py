"""LiteLLM proxy configurations become drafts that say what they leave out."""

from __future__ import annotations

import pytest

from routeradmin.catalog.files import foreign
from routeradmin.catalog.files.draft import Draft
from tests.catalog.foreign.drafts import draft_of, places, tiers


@pytest.fixture(scope="module")
def draft() -> Draft:
    return draft_of("litellm.yaml")


def test_names_become_routes_and_entries_of_one_name_share_a_tier(draft: Draft) -> None:
    assert tiers(draft) == {
        "chat": [(0, "groq-main"), (0, "chat")],
        "plain": [(0, "plain")],
        "快速": [(0, "unnamed")],
        "claude-*": [(0, "claude-*")],
        "hosted": [(0, "hosted")],
        "vectors": [(0, "vectors")],
        "ordered": [(1, "ordered"), (0, "ordered-2")],
        "groq-main": [(0, "groq-main")],
    }


def test_providers_come_from_the_prefix_or_the_stated_provider(draft: Draft) -> None:
    assert [one.id for one in draft.document.providers] == [
        "groq",
        "openai",
        "ollama",
        "anthropic",
        "openai-compatible",
        "mistral",
    ]
    assert {one.upstream_name for one in draft.document.models} == {
        "openai/gpt-oss-120b",
        "moonshotai/kimi-k2",
        "gpt-4o-mini",
        "qwen3:30b-a3b",
        "claude-*",
        "claude-sonnet",
        "bge-m3",
        "mistral-large-latest",
        "mistral-small-latest",
    }


def test_keys_stay_references_and_literal_keys_never_show(draft: Draft) -> None:
    references = {one.id: one.secret_reference_id for one in draft.document.accounts}

    assert references["groq-key-001"] == "env:GROQ_API_KEY"
    assert references["ollama-key-001"] is None
    assert references["openai-key-001"] == "openai-key-001"
    assert draft.secrets["openai-key-001"] == "made-up-literal-key-0123456789"
    assert "made-up" not in repr(draft)
    assert "/environment_variables/OPENAI_API_KEY" in places(draft.notes)


def test_merge_keys_share_one_credential_and_limits(draft: Draft) -> None:
    first, second = draft.document.serving_models[:2]

    assert first.endpoint_id == second.endpoint_id
    assert (second.rpm_limit, second.tpm_limit, second.weight) == (30, 8000, 4)


def test_base_urls_are_completed_or_left_to_be_given(draft: Draft) -> None:
    urls = {one.id: one.base_url for one in draft.document.endpoints}
    deployments = {one.id: one for one in draft.document.serving_models}

    assert urls[deployments["hosted"].endpoint_id] == "https://team.example/anthropic/v1/"
    assert urls[deployments["unnamed"].endpoint_id] == "http://lab.example:11434/v1/"
    assert urls[deployments["claude-*"].endpoint_id] == "https://pool-url.invalid/"
    assert deployments["claude-*"].admin_state == "disabled"
    assert deployments["hosted"].protocol == "messages"
    assert deployments["vectors"].protocol == "embeddings"
    assert deployments["vectors"].input_price == 0.2
    assert deployments["vectors"].capabilities.vision is False


def test_timeouts_come_from_the_model_or_the_settings(draft: Draft) -> None:
    timeouts = {one.id: one.total_timeout_s for one in draft.document.endpoints}
    deployments = {one.id: one for one in draft.document.serving_models}

    assert timeouts[deployments["hosted"].endpoint_id] == 30
    assert timeouts[deployments["plain"].endpoint_id] == 120


def test_settings_become_the_default_policy(draft: Draft) -> None:
    policies = {one.id: one for one in draft.document.policies}
    default = policies["litellm"]

    assert draft.document.defaults.strategy == "latency_based"
    assert draft.document.defaults.policy_id == "litellm"
    assert default.retry.max_attempts == 3
    assert default.retry.backoff_base_ms == 500
    assert default.cooldown.allowed_fails == 4
    assert default.cooldown.transient_base_s == default.cooldown.rate_limited_base_s == 30
    assert [(one.name, one.target) for one in draft.document.aliases] == [("gpt", "plain")]


def test_fallback_lists_name_routes_and_a_deployments_own_id_gets_one(draft: Draft) -> None:
    routes = {one.alias: one for one in draft.document.routes}
    policies = {one.id: one for one in draft.document.policies}
    chat = policies[routes["chat"].policy_id or ""].fallback
    other = policies[routes["hosted"].policy_id or ""]

    assert chat.general == ("plain",)
    assert chat.context_window == ("hosted",)
    assert other.fallback.general == ("groq-main",)
    assert other.retry.max_attempts == 3
    assert routes["chat"].fallback_enabled


def test_everything_without_a_counterpart_is_listed_with_its_place(draft: Draft) -> None:
    assert places(draft.unmapped) == {
        "/model_list/0/litellm_params/max_tokens",
        "/model_list/1/litellm_params/max_tokens",
        "/model_list/2/litellm_params/rpm_limit",
        "/model_list/6/litellm_params/api_version",
        "/model_list/9",
        "/router_settings/retry_policy",
        "/router_settings/fallbacks/0/chat/1",
        "/router_settings/fallbacks/2/gone",
        "/litellm_settings/callbacks",
        "/litellm_settings/drop_params",
        "/litellm_settings/surprise",
        "/general_settings/master_key",
        "/general_settings/num_retries",
        "/general_settings/database_url",
        "/environment_variables/OPENAI_API_KEY",
        "/environment_variables/LITELLM_MASTER_KEY",
        "/extra_section",
    }
    assert "/environment_variables/LITELLM_MASTER_KEY" in places(draft.notes)
    assert "/model_list/2/litellm_params/model" in places(draft.notes)


def test_explicit_zeros_are_kept_apart_from_silence() -> None:
    silent = foreign.read(b"model_list: []", "litellm").document
    zero = foreign.read(b"model_list: []\nrouter_settings: {num_retries: 0}", "litellm").document

    assert silent.policies == ()
    assert zero.policies[0].retry.max_attempts == 1
