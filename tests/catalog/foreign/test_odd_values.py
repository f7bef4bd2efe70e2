"""Files of other programs in which one value is nothing that its field could hold."""

from __future__ import annotations

import pytest
import yaml

from routeradmin.catalog.files import foreign, yaml_source
from routeradmin.catalog.files.draft import Draft, Remark
from routeradmin.catalog.problems import Invalid, pointer
from tests.catalog.foreign.drafts import fixture_bytes
from tests.catalog.foreign.drafts import places as said_of
from tests.catalog.foreign.test_foreign import FILES
from tests.odd_values import MEANT_BY_NONE, ODD, Path, instead, pairs, places, without

# The wrapping and the layout's version say nothing that could get lost.
_OF_THE_FILE = {"apiVersion", "kind", "metadata", "schema_version"}


def read(source: str, values: dict[str, object]) -> Draft | None:
    try:
        return foreign.READERS[source](values, [])
    except Invalid:
        return None


def told(draft: Draft, at: Path) -> bool:
    """Whether a remark is about this place, something in it or what it stands in."""
    place = pointer(*at)
    return any(
        one == place or one.startswith(f"{place}/") or place.startswith(f"{one}/")
        for one in said_of((*draft.unmapped, *draft.notes))
        if one
    )


@pytest.mark.parametrize("name", FILES)
def test_no_value_in_any_place_does_more_than_being_refused(name: str) -> None:
    values = yaml_source.load(fixture_bytes(name))[0]
    for at, odd in pairs(values, ODD, 5):
        read(FILES[name], instead(values, at, odd))


@pytest.mark.parametrize("name", FILES)
def test_a_value_that_changes_nothing_is_told(name: str) -> None:
    values = yaml_source.load(fixture_bytes(name))[0]
    for at in places(values):
        if at[0] in _OF_THE_FILE or isinstance(at[-1], int):
            continue
        absent = read(FILES[name], without(values, at))
        for odd in MEANT_BY_NONE:
            found = read(FILES[name], instead(values, at, odd))
            if found is not None and absent is not None and found.document == absent.document:
                assert told(found, at), (at, odd)


@pytest.mark.parametrize(
    ("source", "text", "place"),
    [
        ("litellm", "rpm: '60'", "/model_list/0/litellm_params/rpm"),
        ("litellm", "weight: .inf", "/model_list/0/litellm_params/weight"),
        ("litellm", "api_key: {a: b}", "/model_list/0/litellm_params/api_key"),
        ("litellm-rs", "rpm: '60'", "/providers/0/rpm"),
        ("litellm-rs", "weight: .inf", "/providers/0/weight"),
        ("litellm-rs", "enabled: 'false'", "/providers/0/enabled"),
        ("litellm-rs", "provider_type: vertex", "/providers/0/provider_type"),
        ("litellm-rs", "models: [{name: m}]", "/providers/0/models/0"),
        ("switchailocal", "priority: high", "/claude-api-key/0/priority"),
        ("switchailocal", "models: [{alias: m}]", "/claude-api-key/0/models/0"),
        ("switchailocal", "api-key-entries: [k]", "/claude-api-key/0/api-key-entries/0"),
        ("switchailocal", "disabled: 'no way'", "/claude-api-key/0/disabled"),
    ],
)
def test_what_is_of_another_kind_is_listed_and_what_is_beside_it_read(
    source: str, text: str, place: str
) -> None:
    around = {
        "litellm": "model_list:\n- model_name: a\n  litellm_params:\n    model: openai/m\n    %s\n",
        "litellm-rs": "providers:\n- name: openai\n  %s\n",
        "switchailocal": "claude-api-key:\n- name: c\n  %s\n",
    }
    draft = foreign.read((around[source] % text).encode(), source)
    assert place in said_of((*draft.unmapped, *draft.notes))
    assert draft.document.providers
    assert not draft.secrets


AROUND = {
    "litellm": "model_list:\n- model_name: a\n  litellm_params:\n    model: openai/m\n    %s\n",
    "litellm-rs": "providers:\n- name: openai\n  models: [m]\n  %s\n",
    "switchailocal": "claude-api-key:\n- models: [{name: m}]\n  %s\n",
}


def around(source: str, text: str) -> Draft:
    return foreign.read((AROUND[source] % text).encode(), source)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("litellm", "api_base: ['http://10.0.0.5/v1']"),
        ("litellm", "base_url: {url: 'http://10.0.0.5/v1'}"),
        ("litellm", "custom_llm_provider: [hosted_vllm]"),
        ("litellm-rs", "base_url: ['http://10.0.0.5/v1']"),
        ("litellm-rs", "provider_type: {a: b}"),
        ("switchailocal", "base-url: ['http://10.0.0.5']"),
    ],
)
def test_an_address_that_cannot_be_read_is_not_the_vendors(source: str, text: str) -> None:
    draft = around(source, text)
    document, name = draft.document, text.split(":")[0]
    assert [one.base_url.endswith(".invalid/") for one in document.endpoints] == [True]
    assert [one.admin_state for one in document.serving_models] == ["disabled"]
    for remarks in (draft.unmapped, draft.notes):
        assert any(one.place.endswith(f"/{name}") for one in remarks)


def test_an_address_beside_one_that_cannot_be_read_is_kept_and_not_called() -> None:
    draft = around("litellm", "api_base: [x]\n    base_url: http://10.0.0.5/v1/")
    assert [one.base_url for one in draft.document.endpoints] == ["http://10.0.0.5/v1/"]
    assert [one.admin_state for one in draft.document.serving_models] == ["disabled"]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("litellm", "api_key: [sk-1]"),
        ("litellm-rs", "api_key: {a: b}"),
        ("switchailocal", "api-key: [sk-1]"),
        ("switchailocal", "api-keys: sk-1"),
        ("switchailocal", "api-keys: [[sk-1]]"),
        ("switchailocal", "api-key-entries: {api-key: sk-1}"),
        ("switchailocal", "api-key-entries: [sk-1]"),
        ("switchailocal", "api-key-entries: [{api-key: [sk-1]}]"),
    ],
)
def test_a_key_that_cannot_be_read_is_not_none(source: str, text: str) -> None:
    draft = around(source, text)
    assert [one.auth_kind == "anonymous" for one in draft.document.accounts] == [False]
    assert not draft.secrets
    for remarks in (draft.unmapped, draft.notes):
        assert any(f"/{text.split(':')[0]}" in one.place for one in remarks)
    assert "sk-1" not in repr(draft)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("litellm-rs", "enabled: 'false'"),
        ("switchailocal", "disabled: 'true'"),
        ("switchailocal", "excluded-models: '*'"),
        ("switchailocal", "excluded-models: [['*']]"),
        ("switchailocal", "prefix: [p]"),
    ],
)
def test_what_bounds_calls_and_cannot_be_read_switches_off(source: str, text: str) -> None:
    document = around(source, text).document
    entries = document.providers if source == "litellm-rs" else document.serving_models
    assert [one.admin_state for one in entries] == ["disabled"]


@pytest.mark.parametrize(
    "text",
    [
        "  proxy-url: [p]",
        "  api-key-entries: [{api-key: k, proxy-url: [p]}]",
        "proxy-url: [p]",
    ],
)
def test_a_proxy_that_cannot_be_read_is_not_called_past(text: str) -> None:
    file = f"claude-api-key:\n- name: c\n  models: [{{name: m}}]\n{text}\n"
    draft = foreign.read(file.encode(), "switchailocal")
    assert [one.proxy for one in draft.document.endpoints] == ["https://proxy-url.invalid"]


def test_names_that_cannot_be_read_take_no_calls_of_others() -> None:
    aliased = around("switchailocal", "models: [{name: m, alias: [n]}]")
    assert not aliased.document.routes
    forced = around("switchailocal", "prefix: p\nforce-model-prefix: 'true'")
    assert [one.alias for one in forced.document.routes] == ["p/m"]


@pytest.mark.parametrize(
    ("source", "text", "place"),
    [
        ("litellm", "tags: [a, null]", "/model_list/0/litellm_params/tags/1"),
        ("litellm-rs", "models: [a, null]", "/providers/0/models/1"),
        ("litellm-rs", "tags: [x, null]", "/providers/0/tags/1"),
        ("switchailocal", "headers: {X-C: null}", "/claude-api-key/0/headers/X-C"),
        ("switchailocal", "excluded-models: [null]", "/claude-api-key/0/excluded-models/0"),
        ("switchailocal", "api-keys: [k, null]", "/claude-api-key/0/api-keys/1"),
        ("switchailocal", "api-key-entries: [null]", "/claude-api-key/0/api-key-entries/0"),
        (
            "switchailocal",
            "models: [{name: m, input-modalities: [null]}]",
            "/claude-api-key/0/models/0/input-modalities/0",
        ),
        ("switchailocal", "name: c\n- null", "/claude-api-key/1"),
    ],
)
def test_a_null_is_listed(source: str, text: str, place: str) -> None:
    assert Remark(place, "is null") in around(source, text).unmapped


def test_nulls_among_fallbacks_are_listed() -> None:
    fallbacks = "\nrouter_settings: {fallbacks: [{a: null}, null]}"
    at = "/router_settings/fallbacks"
    assert around("litellm", fallbacks).unmapped == (
        Remark(f"{at}/0/a", "is null"),
        Remark(f"{at}/1", "is null"),
    )


@pytest.mark.parametrize(
    ("section", "setting"),
    [
        ("router_settings", "num_retries: .inf"),
        ("router_settings", "retry_after: .nan"),
        ("litellm_settings", "allowed_fails: .inf"),
        ("router_settings", "cooldown_time: soon"),
        ("router_settings", "model_group_alias: [a]"),
        ("litellm_settings", "fallbacks: {a: [b]}"),
        ("litellm_settings", "context_window_fallbacks: [a]"),
    ],
)
def test_settings_of_another_kind_are_listed(section: str, setting: str) -> None:
    draft = foreign.read(f"{section}:\n  {setting}\nmodel_list: []\n".encode(), "litellm")
    place = pointer(section, setting.split(":")[0])
    assert any(one.place.startswith(place) for one in draft.unmapped)


@pytest.mark.parametrize(
    ("source", "text", "place"),
    [
        (
            "litellm",
            "model_list: [{model_name: a, litellm_params: {model: openai/m}, "
            "model_info: {mode: [chat]}}]",
            "/model_list/0/model_info/mode",
        ),
        ("litellm-rs", "providers: []\nrouter: {strategy: [a]}", "/router/strategy"),
        ("litellm-rs", "providers: []\nmodel_aliases: {a: null}", "/model_aliases/a"),
        ("switchailocal", "routing: {strategy: [a]}", "/routing/strategy"),
        ("switchailocal", "request-retry: [1]", "/request-retry"),
        ("switchailocal", "max-retry-interval: .inf", "/max-retry-interval"),
    ],
)
def test_a_list_where_a_word_is_chosen_from_is_told(source: str, text: str, place: str) -> None:
    draft = foreign.read(text.encode(), source)
    assert place in said_of((*draft.unmapped, *draft.notes))


def test_other_files_of_a_config_map_are_listed_whatever_they_hold() -> None:
    file = {"data": {"a": "x: [", "b.yaml": "providers:\n- name: openai\n", "c": 3}}
    draft = foreign.read(yaml.safe_dump({"kind": "ConfigMap", **file}).encode())
    assert {one.place for one in draft.unmapped} == {"/data/a", "/data/c"}
    assert [one.id for one in draft.document.providers] == ["openai"]
