"""Intents and their settings in documents: refused, warned of, stored and compiled."""

from __future__ import annotations

from typing import Any

import pytest

from routeradmin.catalog import rows
from routeradmin.catalog.canonical import canonical
from routeradmin.catalog.compile import compile
from routeradmin.catalog.document import Document
from routeradmin.catalog.files import read, write
from routeradmin.catalog.files.reading import from_values
from routeradmin.catalog.problems import Invalid, Severity
from routeradmin.catalog.validate import problems
from routeradmin.services import changes
from routeradmin.services.changes import Actor
from routeradmin.services.runtime import Runtime
from tests import factories as make


def catalog(intents: list[dict[str, Any]] | None = None, **settings: Any) -> Document:
    values = make.catalog()
    route = values["routes"][0]["id"]
    values["intents"] = [{"route_id": route, **one} for one in intents or [{"id": "fast"}]]
    values["defaults"] = {"intents": settings}
    return from_values(values)


def found(document: Document, severity: Severity) -> dict[str, str]:
    return {one.pointer: one.detail for one in problems(document) if one.severity is severity}


@pytest.mark.parametrize(
    "settings",
    [
        {"classifier": "auto"},
        {"embedder": "auto"},
        {"threshold": 1.5},
        {"cache_similarity": -0.1},
        {"classifier_timeout_s": 0},
        {"reflexes": ["smell"]},
        {"cache_entries": -1},
        {"colour": "red"},
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(Invalid) as refused:
        catalog(**settings)
    place = f"/defaults/intents/{next(iter(settings))}"
    assert refused.value.problems[0].pointer.startswith(place)


def test_names_that_lead_nowhere_are_refused() -> None:
    told = found(catalog(classifier="nobody", embedder="nothing"), Severity.ERROR)
    assert set(told) == {"/defaults/intents/classifier", "/defaults/intents/embedder"}
    assert found(catalog(embedder="wordllama"), Severity.ERROR) == {}


def test_an_intent_needs_a_route_with_a_whole_name() -> None:
    values = make.catalog()
    values["routes"][0]["alias"] = "gpt-*"
    values["intents"] = [{"id": "x", "route_id": values["routes"][0]["id"]}]
    assert "/intents/0/route_id" in found(from_values(values), Severity.ERROR)


def test_what_would_not_do_as_it_says_is_warned_of() -> None:
    alias = make.catalog()["routes"][0]["alias"]
    held = catalog(
        [{"id": "secure", "local_only": True}], enabled=True, classifier=alias, embedder=alias
    )
    told = found(held, Severity.WARNING)
    assert {
        "/defaults/intents/default_id",
        "/defaults/intents/classifier",
        "/defaults/intents/embedder",
        "/intents/0/route_id",
    } <= set(told)


def test_defaults_are_left_out_and_what_is_stated_survives_files() -> None:
    assert "defaults" not in canonical(catalog(enabled=False, cache_similarity=0.95))
    held = catalog(enabled=True, threshold=0.4, reflexes=["image"])
    stated = {"enabled": True, "reflexes": ["image"], "threshold": 0.4}
    assert canonical(held)["defaults"] == {"intents": stated}
    for form in ("toml", "json"):
        again = read(write(held, format=form), "auto")  # type: ignore[arg-type]
        assert canonical(again) == canonical(held)


def test_they_are_stored_and_put_in_force(runtime: Runtime) -> None:
    held = catalog(enabled=True, cache_ttl_s=60)
    changes.replace_document(held, Actor("user:ada"), mode="replace")
    assert rows.load().defaults.intents.cache_ttl_s == 60
    assert runtime.current.snapshot.has_intents
    changes.update_defaults({"intents": {"enabled": False}}, Actor("user:ada"), if_match="*")
    assert not runtime.current.snapshot.has_intents
    assert rows.load().defaults.intents.cache_ttl_s == 60


def test_without_intents_nothing_is_decided() -> None:
    values = make.catalog()
    values["defaults"] = {"intents": {"enabled": True}}
    assert not compile(from_values(values), 1).has_intents
