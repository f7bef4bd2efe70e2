"""Rows and documents are two forms of one catalog."""

from __future__ import annotations

import time
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from routeradmin.catalog import models, rows
from routeradmin.catalog.canonical import canonical, digest
from routeradmin.catalog.document import Document
from tests import factories as make

pytestmark = pytest.mark.django_db
EMPTY = Document()


def stored(values: dict[str, Any], before: Document = EMPTY) -> Document:
    after = make.document(values)
    rows.store(before, after, timezone.now())
    connection.check_constraints()
    return after


def test_an_empty_database_is_an_empty_document() -> None:
    assert digest(rows.load()) == digest(EMPTY)


def test_every_field_of_every_kind_survives_the_database() -> None:
    after = stored(make.full_catalog())
    assert canonical(rows.load()) == canonical(after)


def test_a_catalog_is_loaded_with_few_queries(django_assert_max_num_queries: Any) -> None:
    stored(make.full_catalog())
    with django_assert_max_num_queries(20):
        rows.load()


def test_storing_what_is_stored_writes_nothing(django_assert_num_queries: Any) -> None:
    after = stored(make.full_catalog())
    with django_assert_num_queries(0):
        assert not rows.store(after, make.document(make.full_catalog()), timezone.now())


def test_only_what_changed_gets_a_new_version() -> None:
    before = stored(make.full_catalog())
    values = make.full_catalog()
    values["serving_models"][0]["weight"] = 5
    stored(values, before)
    versions = dict(models.Deployment.objects.values_list("uid", "version"))
    assert versions == {"acme-large": 2, "acme-second": 1, "acme-star": 1}
    assert models.Route.objects.get(uid="chat").version == 1


def test_a_route_carries_the_version_of_its_targets() -> None:
    before = stored(make.full_catalog())
    values = make.full_catalog()
    values["targets"][1]["position"] = 0
    stored(values, before)
    assert rows.version_of("routes", "chat") == 2
    assert rows.version_of("routes", "any") == 1


def test_two_routes_can_swap_their_aliases_while_an_alias_points_at_one() -> None:
    values = make.catalog(
        routes=[make.route("a", alias="one"), make.route("b", alias="two")],
        targets=[make.target("a1", route_id="a"), make.target("b1", route_id="b")],
        aliases=[{"name": "uno", "target": "one"}],
    )
    before = stored(values)
    values["routes"][0]["alias"], values["routes"][1]["alias"] = "two", "one"
    after = stored(values, before)
    assert canonical(rows.load()) == canonical(after)
    assert models.Alias.objects.get(name="uno").target_name.route.uid == "b"


def test_two_targets_of_a_route_can_swap_their_deployments() -> None:
    values = make.full_catalog()
    before = stored(values)
    first, second = values["targets"][0], values["targets"][1]
    first["serving_model_id"], second["serving_model_id"] = "acme-second", "acme-large"
    after = stored(values, before)
    assert canonical(rows.load()) == canonical(after)


def test_aliases_can_be_repointed_and_removed() -> None:
    values = make.full_catalog()
    before = stored(values)
    values["aliases"] = [{"name": "parler été", "target": "chat"}]
    after = stored(values, before)
    assert canonical(rows.load()) == canonical(after)
    assert models.Alias.objects.get().version == 2
    assert models.PublicName.objects.count() == 3


def test_a_whole_catalog_can_be_emptied() -> None:
    before = stored(make.full_catalog())
    rows.store(before, EMPTY, timezone.now())
    connection.check_constraints()
    assert digest(rows.load()) == digest(EMPTY)
    assert models.PublicName.objects.count() == 0
    assert models.FallbackEntry.objects.count() == 0


def test_references_become_secrets_of_their_kind() -> None:
    stored(
        make.catalog(
            accounts=[
                make.account(),
                make.account("e", secret_reference_id="env:ACME_KEY"),
                make.account("f", secret_reference_id="file:/run/secrets/acme"),
            ]
        )
    )
    kinds = dict(models.Secret.objects.values_list("reference", "kind"))
    assert kinds == {
        "acme-key-secret": "stored",
        "env:ACME_KEY": "env",
        "file:/run/secrets/acme": "file",
    }


@pytest.mark.slow
def test_a_thousand_deployments_and_three_hundred_routes_are_stored_in_seconds() -> None:
    values = make.wide_catalog(deployments=1000, routes=300)
    started = time.process_time()
    after = stored(values)
    assert time.process_time() - started < 5
    started = time.process_time()
    assert digest(rows.load()) == digest(after)
    assert time.process_time() - started < 1
