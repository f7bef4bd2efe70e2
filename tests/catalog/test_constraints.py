"""The database itself refuses what no row may hold, whoever writes it."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import IntegrityError, connection, models, transaction
from django.utils import timezone

from routeradmin.catalog import models as catalog
from routeradmin.catalog import rows
from routeradmin.catalog.document import Document
from tests import factories as make

pytestmark = pytest.mark.django_db
INT31 = 2**31 - 1


@pytest.fixture(autouse=True)
def stored() -> None:
    rows.store(Document(), make.document(make.full_catalog()), timezone.now())


def refused(kind: type[models.Model], fields: dict[str, Any]) -> None:
    """Updating the kind's first row to these values must fail."""
    pk = kind._default_manager.order_by("pk").values_list("pk", flat=True)[0]
    with pytest.raises(IntegrityError), transaction.atomic():
        kind._default_manager.filter(pk=pk).update(**fields)


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        (catalog.Provider, {"uid": ""}),
        (catalog.Provider, {"category": ""}),
        (catalog.Provider, {"admin_state": "asleep"}),
        (catalog.Credential, {"auth_kind": "basic"}),
        (catalog.Credential, {"billing_kind": "barter"}),
        (catalog.Endpoint, {"base_url": ""}),
        (catalog.Endpoint, {"connect_timeout_s": -1}),
        (catalog.Endpoint, {"probe_mode": "ping"}),
        (catalog.Endpoint, {"probe_failure_threshold": 0}),
        (catalog.UpstreamModel, {"upstream_name": ""}),
        (catalog.Deployment, {"protocol": "telnet"}),
        (catalog.Deployment, {"weight": -1}),
        (catalog.Deployment, {"weight": INT31 + 1}),
        (catalog.Deployment, {"priority": -1}),
        (catalog.Deployment, {"rpm_limit": -1}),
        (catalog.Deployment, {"tpm_limit": -1}),
        (catalog.Deployment, {"max_parallel_requests": -1}),
        (catalog.Deployment, {"context_window": 0}),
        (catalog.Deployment, {"max_output_tokens": 1001}),
        (catalog.Deployment, {"input_price": -0.5}),
        (catalog.Route, {"alias": ""}),
        (catalog.Route, {"strategy": "best"}),
        (catalog.Route, {"when_exhausted": "panic"}),
        (catalog.Route, {"max_wait_s": -1}),
        (catalog.Target, {"position": -1}),
        (catalog.Alias, {"name": "talk", "target": "talk"}),
        (catalog.Policy, {"retry_max_attempts": 0}),
        (catalog.Policy, {"retry_max_attempts": 17}),
        (catalog.Policy, {"retry_jitter": 1.5}),
        (catalog.Policy, {"cooldown_quota_s": -1}),
        (catalog.FallbackList, {"kind": "weather"}),
        (catalog.Secret, {"kind": "env"}),
        (catalog.Defaults, {"strategy": "best"}),
    ],
)
def test_a_value_out_of_range_is_refused(kind: type[models.Model], fields: dict[str, Any]) -> None:
    refused(kind, fields)


def test_an_api_key_header_goes_with_api_key_and_nothing_else() -> None:
    header = catalog.Credential.objects.filter(auth_kind="api-key")
    bearer = catalog.Credential.objects.filter(auth_kind="bearer")
    with pytest.raises(IntegrityError), transaction.atomic():
        header.update(api_key_header="")
    with pytest.raises(IntegrityError), transaction.atomic():
        bearer.update(api_key_header="x-key")


def test_an_anonymous_credential_has_no_secret_and_every_other_has_one() -> None:
    secret = catalog.Secret.objects.all()[0]
    with pytest.raises(IntegrityError), transaction.atomic():
        catalog.Credential.objects.filter(auth_kind="anonymous").update(secret=secret)
    with pytest.raises(IntegrityError), transaction.atomic():
        catalog.Credential.objects.filter(auth_kind="bearer").update(secret=None)


def test_an_outside_secret_holds_no_ciphertext() -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        catalog.Secret.objects.create(reference="env:A", kind="env", ciphertext="gAAAA")


def test_ids_and_names_stand_once() -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        catalog.Provider.objects.create(uid="acme", category="cloud")
    route = catalog.Route.objects.create(uid="other", alias="cafe\u0301")
    name = catalog.folded(" cafe\u0301 ")
    catalog.PublicName.objects.create(folded=name, route=route)
    alias = catalog.Alias.objects.create(
        name="caf\u00e9", target="chat", target_name=catalog.PublicName.objects.all()[0]
    )
    with pytest.raises(IntegrityError), transaction.atomic():
        catalog.PublicName.objects.create(folded=catalog.folded("caf\u00e9"), alias=alias)


def test_a_name_has_exactly_one_owner() -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        catalog.PublicName.objects.create(folded="nobody's")


def test_a_route_holds_a_deployment_once() -> None:
    first = catalog.Target.objects.get(uid="chat-1")
    with pytest.raises(IntegrityError), transaction.atomic():
        catalog.Target.objects.create(
            uid="again", route=first.route, deployment=first.deployment, position=3
        )


def test_what_is_referred_to_cannot_be_deleted() -> None:
    for kind in (catalog.Provider, catalog.Endpoint, catalog.UpstreamModel, catalog.Deployment):
        with pytest.raises(models.ProtectedError):
            kind.objects.all()[0].delete()


def test_there_is_one_row_of_defaults() -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        catalog.Defaults.objects.create(id=2)


def test_a_reference_to_nothing_is_refused_at_commit() -> None:
    mark = transaction.savepoint()
    catalog.Target.objects.filter(uid="chat-1").update(deployment_id=10**9)
    with pytest.raises(IntegrityError):
        connection.check_constraints()
    transaction.savepoint_rollback(mark)
