"""One document, one canonical form, one digest."""

from __future__ import annotations

import json
import random

from routeradmin.catalog.canonical import binding_revision, bindings, canonical, digest, dump
from routeradmin.catalog.document import Document
from routeradmin.catalog.files import read
from tests.catalog.documents import changed, document, example, example_bytes, small

CONFIG = "1365b05fe63542f8211e21a9a2566c71f2a6d44ec9bdc564ba46c592a861825f"
LOCAL_SMALL = "1a6ea40f98c8eef26ff66e7c753dda816f45a1aa3488bb31f62ef25a89c328a1"
REMOTE_LARGE = "5dd662a7d1b9e5280a10e6b691ff04c79326d1562d18d3206e9d1bd141ed9a13"


def shuffled(source: Document) -> Document:
    rng = random.Random(7)
    kinds = {
        name: tuple(rng.sample(getattr(source, name), len(getattr(source, name))))
        for name in Document.LLM
    }
    return source.model_copy(update=kinds)


def test_the_shipped_example_has_its_three_published_digests() -> None:
    shipped = example()

    assert digest(shipped) == CONFIG
    assert dict(bindings(shipped)) == {
        ("local-small", "local"): LOCAL_SMALL,
        ("remote-large", "remote"): REMOTE_LARGE,
    }


def test_order_comments_and_trailing_slashes_do_not_change_the_digest() -> None:
    assert digest(shuffled(example())) == CONFIG
    assert digest(read(b"# a comment\n\n" + example_bytes())) == CONFIG
    assert digest(read(example_bytes().replace(b"8000/v1", b"8000/v1/"))) == CONFIG
    assert digest(read(example_bytes().replace(b"http://127", b"HTTP://127"))) == CONFIG


def test_leaving_fallback_enabled_out_is_the_same_as_false() -> None:
    assert digest(read(example_bytes().replace(b"fallback_enabled = false", b""))) == CONFIG


def test_swapped_positions_and_fallback_change_the_digest() -> None:
    swapped = (
        example_bytes()
        .replace(b"position = 0", b"position = 9")
        .replace(b"position = 1", b"position = 0")
        .replace(b"position = 9", b"position = 1")
    )
    switched_on = example_bytes().replace(b"fallback_enabled = false", b"fallback_enabled = true")

    assert len({digest(read(data)) for data in (example_bytes(), swapped, switched_on)}) == 3


def test_a_document_that_says_no_more_than_llm_catalog_is_digested_as_such() -> None:
    as_superset = read(example_bytes().replace(b"llm.catalog/1", b"routeradmin.catalog/1"))
    defaults_stated = as_superset.model_copy(
        update={
            "serving_models": tuple(
                type(one).model_validate({**dict(one), "weight": 1, "admin_state": "enabled"})
                for one in as_superset.serving_models
            )
        }
    )

    assert digest(as_superset) == digest(defaults_stated) == CONFIG


def test_an_extension_field_makes_it_the_superset_and_leaves_bindings_alone() -> None:
    shipped = example()
    heavier = shipped.model_copy(
        update={
            "serving_models": tuple(
                one.model_copy(update={"weight": 5, "vision": True})
                for one in shipped.serving_models
            )
        }
    )

    assert canonical(heavier)["format"] == "routeradmin.catalog/1"
    assert digest(heavier) != CONFIG
    assert dict(bindings(heavier)) == dict(bindings(shipped))


def test_an_extension_capability_leaves_the_binding_alone() -> None:
    shipped = example()
    serving = shipped.serving_models[0]
    seeing = serving.capabilities.model_copy(update={"vision": True})
    objects = (shipped.providers[0], shipped.accounts[0], shipped.endpoints[0], shipped.models[0])

    revision = binding_revision(*objects, serving.model_copy(update={"capabilities": seeing}))

    assert revision == LOCAL_SMALL


def test_patterns_shared_positions_and_unicode_names_belong_to_the_superset() -> None:
    values = {**small(), "format": "llm.catalog/1"}
    plain = {kind: values[kind] for kind in ("format", *Document.LLM)}
    plain = changed(
        plain, models__1__upstream_name="x", routes__2__alias="w", accounts__3__api_key_header="k"
    )
    assert canonical(document(plain))["format"] == "llm.catalog/1"

    superset = {**plain, "format": "routeradmin.catalog/1"}
    for beyond in (
        {"routes__2__alias": "w-*"},
        {"routes__2__alias": "日本"},
        {"targets__1__position": 0},
        {"serving_models__0__capabilities": {}},
        {"serving_models__0__protocol": "embeddings"},
    ):
        form = canonical(document(changed(superset, **beyond)))
        assert form["format"] == "routeradmin.catalog/1"


def test_whole_numbers_are_integers_times_are_utc_and_defaults_are_left_out() -> None:
    values = changed(
        small(),
        endpoints__0__connect_timeout_s=15.0,
        endpoints__0__idle_timeout_s=20.0,
        endpoints__0__total_timeout_s=1.5,
        serving_models__0__drain_until="2026-01-01T02:00:00.1239+02:00",
        serving_models__0__account_ids=["metered"],
        serving_models__0__probe={"mode": "off"},
        serving_models__1__name="d-free",
        routes__0__strategy="simple_shuffle",
        policies__0__retry={"max_attempts": 3, "stream_max_attempts": 3},
        policies__0__fallback={"rate_limit": []},
    )
    form = canonical(document(values))

    endpoint = next(one for one in form["endpoints"] if one["id"] == "e-metered")
    serving = {one["id"]: one for one in form["serving_models"]}
    assert dump(endpoint["idle_timeout_s"]) == b"20"
    assert endpoint["total_timeout_s"] == 1.5
    assert "connect_timeout_s" not in endpoint
    assert serving["d-metered"]["drain_until"] == "2026-01-01T00:00:00.123Z"
    assert not {"account_ids", "probe"} & serving["d-metered"].keys()
    assert "name" not in serving["d-free"]
    assert next(one for one in form["routes"] if one["id"] == "r") == {
        "id": "r",
        "alias": "chat",
        "fallback_enabled": False,
    }
    assert form["policies"] == [
        {"id": "pol", "retry": {"max_attempts": 3}, "fallback": {"rate_limit": []}}
    ]


def test_a_stated_default_that_differs_from_what_would_be_inherited_is_kept() -> None:
    values = changed(
        small(),
        defaults__strategy="round-robin",
        routes__0__strategy="simple_shuffle",
        endpoints__0__probe={"mode": "models"},
        serving_models__0__probe={},
    )
    form = canonical(document(values))

    assert form["defaults"]["strategy"] == "round_robin"
    assert form["routes"][0]["strategy"] == "simple_shuffle"
    assert {"id": "d-metered", "probe": {}}.items() <= form["serving_models"][3].items()


def test_the_canonical_bytes_are_compact_unescaped_json_in_declared_order() -> None:
    values = changed(small(), routes__0__name="Größe")
    data = dump(canonical(document(values)))

    assert "Größe".encode() in data
    assert b": " not in data
    assert list(json.loads(data)) == [
        "format",
        *("providers", "accounts", "endpoints", "models", "serving_models", "routes", "targets"),
        *("aliases", "policies", "rules", "intents", "defaults"),
    ]
