"""Webhooks of alerts: made with a secret shown once, changed by version, tried, deleted."""

from __future__ import annotations

from django.test import Client

from routeradmin.alerting.models import Webhook
from routeradmin.services.runtime import Runtime
from tests.console.test_forms import answered

GIVEN = {"name": "pager", "url": "https://pager.example.com/in", "is_enabled": "on"}


def test_a_new_webhooks_secret_is_shown_once(catalog: Runtime, as_admin: Client) -> None:
    answer = as_admin.post("/new/alerts", GIVEN)
    secret = answer.context["secret"]
    assert secret in answer.content.decode()
    row = Webhook.objects.get(name="pager")
    assert secret not in as_admin.get(f"/edit/alerts/{row.uid}").content.decode()
    assert "pager" in as_admin.get("/alerts").content.decode()


def test_an_address_that_cannot_be_is_told_beside_its_field(
    catalog: Runtime, as_admin: Client
) -> None:
    answer = as_admin.post("/new/alerts", {**GIVEN, "url": "file:///etc/passwd"})
    assert answer.status_code == 422
    assert answer.context["form"].errors["url"]


def test_an_old_form_loses_nothing(catalog: Runtime, as_admin: Client) -> None:
    as_admin.post("/new/alerts", GIVEN)
    row = Webhook.objects.get(name="pager")
    form = as_admin.get(f"/edit/alerts/{row.uid}").context["form"]
    own = {name: form[name].value() for name in ("version", "seen")}
    as_admin.post(f"/edit/alerts/{row.uid}", {**GIVEN, **own, "name": "first"})
    answer = as_admin.post(f"/edit/alerts/{row.uid}", {**GIVEN, **own, "name": "second"})
    assert answer.status_code == 409
    row.refresh_from_db()
    assert row.name == "first"


def test_a_deleted_webhook_is_gone(catalog: Runtime, as_admin: Client) -> None:
    as_admin.post("/new/alerts", GIVEN)
    row = Webhook.objects.get(name="pager")
    page = as_admin.get(f"/delete/alerts/{row.uid}").content.decode()
    assert "goes to nobody else" in page
    address = f"/delete/alerts/{row.uid}"
    assert as_admin.post(address, answered(as_admin, address)).status_code == 303
    assert not Webhook.objects.exists()


def test_others_may_not_see_where_alerts_go(
    catalog: Runtime, as_operator: Client, as_viewer: Client
) -> None:
    for browser in (as_operator, as_viewer):
        assert browser.get("/alerts").status_code == 403
        assert browser.post("/new/alerts", GIVEN).status_code == 403
