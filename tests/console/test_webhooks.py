"""Webhooks of alerts: made with a secret shown once, changed by version, tried, deleted."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.test import Client

from routeradmin.alerting.models import Delivery, Incident, Webhook
from routeradmin.services import changes
from routeradmin.services.runtime import Runtime
from tests.console.conftest import BY
from tests.console.test_forms import answered

MOMENT = datetime(2026, 1, 1, tzinfo=UTC)
INCIDENTS = "/alerts/incidents"
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
    fields = {"name": "bell", "url": "https://chat.example/T000/B000", "events": []}
    row, _ = changes.create_webhook(fields, BY)
    row.last_error, row.failures, row.last_attempt_at = "the receiver answered 500", 1, MOMENT
    row.save()
    for browser in (as_operator, as_viewer):
        for verb in ("edit", "delete", "test"):
            assert browser.post(f"/{verb}/alerts/{row.uid}", GIVEN).status_code == 403
        assert browser.get(f"/alerts/{row.uid}/deliveries").status_code == 403
        assert browser.post("/new/alerts", GIVEN).status_code == 403
        for address in ("/alerts", "/alerts?q=bell", INCIDENTS, "/audit"):
            page = browser.get(address).content.decode()
            for words in ("chat.example/T", "B000", "answered 500", "Add webhook"):
                assert words not in page, address


def test_everybody_sees_what_is_wrong(
    catalog: Runtime, as_operator: Client, as_viewer: Client
) -> None:
    """As every reader of the API does, who may not be the one that is told."""
    facts = {"route": "chat", "alias": "talk"}
    Incident.objects.create(
        type="route.without_target", subject="chat", facts=facts, process="p", began_at=MOMENT
    )
    for browser in (as_operator, as_viewer):
        assert 'href="/alerts"' in browser.get("/routes").content.decode()
        for address in ("/alerts", INCIDENTS):
            answer = browser.get(address)
            assert answer.status_code == 200
            assert "route.without_target" in answer.content.decode()


def told(row: Webhook, **facts: Any) -> Delivery:
    fresh = {"type": "test", "at": MOMENT, "attempt": 1, "ok": True, "duration_ms": 3.2}
    return Delivery.objects.create(webhook=row, message_id="msg_1", **(fresh | facts))


def test_every_attempt_is_listed_with_its_answer_and_the_next_one(
    catalog: Runtime, as_admin: Client
) -> None:
    as_admin.post("/new/alerts", GIVEN)
    row = Webhook.objects.get(name="pager")
    address = f"/alerts/{row.uid}/deliveries"
    assert "Nothing was sent yet" in as_admin.get(address).content.decode()
    told(row, ok=False, status=500, detail="the receiver answered 500", next_at=MOMENT)
    told(row, attempt=2, status=204)
    page = as_admin.get(address).content.decode()
    assert page.index("taken</b> 204") < page.index("the receiver answered 500")
    assert as_admin.get("/alerts/nobody/deliveries").status_code == 404


def test_what_is_wrong_now_stands_above_the_webhooks(catalog: Runtime, as_admin: Client) -> None:
    assert "Nothing is wrong" in as_admin.get("/alerts").content.decode()
    facts = {"route": "chat", "alias": "talk"}
    Incident.objects.create(
        type="route.without_target", subject="chat", facts=facts, process="p", began_at=MOMENT
    )
    Incident.objects.create(
        type="process.laggard",
        subject="q",
        facts={"id": "q", "revision": 3, "silent_ms": 9000},
        process="p",
        began_at=MOMENT,
        ended_at=MOMENT,
    )
    now, all_of_them = (as_admin.get(path).content.decode() for path in ("/alerts", INCIDENTS))
    assert "route.without_target" in now
    assert "goes on" in now
    assert "process q" not in now
    assert "process q" in all_of_them
    filtered = as_admin.get(INCIDENTS + "?type=process.laggard").content.decode()
    assert "goes on" not in filtered
