"""What is written of incidents and deliveries, and how the next process goes on with it."""

from __future__ import annotations

import asyncio

import orjson
import pytest

from routeradmin.alerting.models import Delivery, Incident, Webhook
from routeradmin.catalog.document import Document
from routeradmin.engine.objects import AdminState
from routeradmin.services.alerts import record
from routeradmin.services.alerts.alerts import Alerts
from routeradmin.services.alerts.messages import made
from routeradmin.services.alerts.sending import Sent
from routeradmin.services.runtime import Runtime
from tests.conftest import FakeClock
from tests.engine.world import catalog, deployment, route

pytestmark = pytest.mark.django_db(transaction=True)


def serve(runtime: Runtime, admin_state: AdminState) -> None:
    off = deployment("a", admin_state=admin_state)
    snapshot = catalog([off], route(["a"]))
    runtime.store.bind(snapshot)
    runtime.current.swap(snapshot, Document())


def look(runtime: Runtime) -> list[str]:
    """The messages that one look puts into the outbox, by state."""
    said: list[str] = []
    runtime.alerts.outbox.post = lambda message, now: said.append(  # type: ignore[method-assign]
        orjson.loads(message.body)["data"]["state"]
    )
    asyncio.run(runtime.alerts.look(runtime))
    return said


def test_an_incident_is_open_until_it_is_over(runtime: Runtime, clock: FakeClock) -> None:
    serve(runtime, AdminState.DISABLED)
    assert look(runtime) == ["firing"]
    (row,) = Incident.objects.all()
    assert (row.type, row.facts["route"], row.ended_at) == ("route.without_target", "r", None)
    serve(runtime, AdminState.ENABLED)
    clock.advance(61)
    assert look(runtime) == ["resolved"]
    row.refresh_from_db()
    assert row.ended_at is not None


def test_after_a_restart_it_goes_on_without_being_told_again(
    runtime: Runtime, clock: FakeClock
) -> None:
    serve(runtime, AdminState.DISABLED)
    look(runtime)
    runtime.alerts = Alerts()
    clock.advance(5)
    assert look(runtime) == []
    serve(runtime, AdminState.ENABLED)
    clock.advance(61)
    assert look(runtime) == ["resolved"]
    assert Incident.objects.filter(ended_at=None).count() == 0


def test_losses_of_a_process_that_is_gone_end_with_it(runtime: Runtime) -> None:
    serve(runtime, AdminState.DISABLED)
    Incident.objects.create(
        type="journal.drops", subject="gone", process="gone", began_at="2026-01-01T00:00:00Z"
    )
    look(runtime)
    assert Incident.objects.get(subject="gone").ended_at is not None


def test_every_attempt_is_kept_with_what_comes_next(runtime: Runtime, clock: FakeClock) -> None:
    Webhook.objects.create(uid="wh", name="n", url="http://x/", ciphertext="c", fingerprint="f")
    message = made("test", {}, clock())
    record.note(runtime, "wh", message, Sent(False, 500, "the receiver answered 500", 3.0), 1, 5.0)
    record.note(runtime, "wh", message, Sent(True, 204, "", 2.0), 2, None)
    record.note(runtime, "gone", message, Sent(True, 204, "", 2.0), 1, None)
    second, first = Delivery.objects.all()
    assert {first.message_id, second.message_id} == {message.id}
    assert first.next_at is not None
    assert (first.next_at - first.at).total_seconds() == 5
    assert (second.ok, second.attempt, second.next_at) == (True, 2, None)
    assert Webhook.objects.get().failures == 0
