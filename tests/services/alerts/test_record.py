"""What is written of incidents and deliveries, and how the next process goes on with it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import orjson
import pytest
from django.db import OperationalError

from routeradmin.alerting.models import Delivery, Incident, Undelivered, Webhook
from routeradmin.catalog.document import Document
from routeradmin.engine.objects import AdminState
from routeradmin.services import changes, publishing, retention
from routeradmin.services.alerts import alerts, outbox, record
from routeradmin.services.alerts.alerts import Alerts
from routeradmin.services.alerts.messages import Message, made
from routeradmin.services.alerts.outbox import Waiting
from routeradmin.services.alerts.sending import Sent
from routeradmin.services.runtime import Runtime
from tests.api.client import BY
from tests.conftest import FakeClock
from tests.engine.world import catalog, deployment, route
from tests.receiver import Receiver, receiver

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


@pytest.fixture
def hook() -> Iterator[Receiver]:
    with receiver() as held:
        yield held


def webhook(runtime: Runtime, url: str) -> Webhook:
    """It wants all alerts."""
    row, _ = changes.create_webhook({"name": "pager", "url": url}, BY)
    return row


def look_and_send(runtime: Runtime) -> None:
    async def once() -> None:
        await runtime.alerts.look(runtime)
        await runtime.alerts.send(runtime)
        await runtime.alerts.outbox.settle()
        await runtime.upstream.close()

    asyncio.run(once())


def restarted(runtime: Runtime) -> None:
    runtime.alerts = Alerts()
    runtime.alerts.targets.load(runtime.sealer)


def on_its_way(runtime: Runtime, type: str = "route.without_target") -> Message:
    """Written down as this process's, due now."""
    message = made(type, {}, runtime.clock())
    posted = [(one.uid, Waiting(message, runtime.clock())) for one in Webhook.objects.all()]
    record.write(runtime, {}, (), None, posted)
    return message


def test_what_has_not_arrived_is_sent_after_a_restart_under_its_id(
    runtime: Runtime, clock: FakeClock, hook: Receiver
) -> None:
    hook.statuses = [500, 500, 204]
    webhook(runtime, hook.url)
    serve(runtime, AdminState.DISABLED)
    look_and_send(runtime)
    (row,) = Undelivered.objects.all()
    assert (row.attempts, row.due_at.timestamp()) == (1, clock() + 5)
    restarted(runtime)
    look_and_send(runtime)
    assert len(hook.got) == 1  # it is not due yet
    clock.advance(5)
    look_and_send(runtime)
    restarted(runtime)
    clock.advance(30)
    look_and_send(runtime)
    first, second, third = hook.got
    assert first[0]["webhook-id"] == second[0]["webhook-id"] == third[0]["webhook-id"]
    assert first[1] == second[1] == third[1]
    assert [one.attempt for one in Delivery.objects.all()] == [3, 2, 1]
    assert not Undelivered.objects.exists()


def test_who_comes_to_lead_takes_over_what_another_has_on_its_way(
    runtime: Runtime, hook: Receiver
) -> None:
    row = webhook(runtime, hook.url)
    message, own = on_its_way(runtime), on_its_way(runtime, "journal.drops")
    before, runtime.process_id = runtime.process_id, "next"
    (found,) = record.claim(runtime, {before, "next"})
    assert (found[0], found[1].message) == (row.uid, message)
    assert record.is_ours(runtime, row.uid, message)
    assert not record.is_ours(runtime, row.uid, own)  # who lost records lives, and tells of it
    runtime.process_id = before
    assert not record.is_ours(runtime, row.uid, message)
    assert record.is_ours(runtime, row.uid, own)
    runtime.process_id = "next"
    assert len(record.claim(runtime, {"next"})) == 2


def test_neither_old_news_nor_what_is_for_a_webhook_that_is_off_is_sent_later(
    runtime: Runtime, clock: FakeClock, hook: Receiver
) -> None:
    row = webhook(runtime, hook.url)
    on_its_way(runtime)
    clock.advance(record.STALE_S + 1)
    assert record.claim(runtime, ()) == []
    on_its_way(runtime)
    changes.update_webhook(row.uid, {"is_enabled": False}, BY, if_match=changes.ANY)
    changes.update_webhook(row.uid, {"is_enabled": True}, BY, if_match=changes.ANY)
    assert record.claim(runtime, ()) == []


def test_what_a_database_that_fails_cannot_hand_over_is_taken_over_later(
    runtime: Runtime, clock: FakeClock, hook: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    webhook(runtime, hook.url)
    message = on_its_way(runtime)

    def fail() -> None:
        raise OperationalError("gone")

    with monkeypatch.context() as gone:
        gone.setattr(record, "open_ones", fail)
        look_and_send(runtime)
    assert hook.got == []
    look_and_send(runtime)
    assert [named["webhook-id"] for named, _ in hook.got] == [message.id]


def test_a_database_that_fails_holds_up_no_alert(
    runtime: Runtime, hook: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    webhook(runtime, hook.url)
    serve(runtime, AdminState.DISABLED)

    def fail(*given: object) -> None:
        raise OperationalError("gone")

    monkeypatch.setattr(record, "write", fail)
    look_and_send(runtime)
    assert len(hook.got) == 1


def test_what_is_written_during_a_claim_stays_its_process_s(
    runtime: Runtime, hook: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = webhook(runtime, hook.url)
    read = on_its_way(runtime)
    before, runtime.process_id = runtime.process_id, "next"
    written: list[Message] = []
    waiting = record._waiting

    def meanwhile(found: Undelivered) -> Waiting:
        runtime.process_id = before
        written.append(on_its_way(runtime))
        runtime.process_id = "next"
        return waiting(found)

    monkeypatch.setattr(record, "_waiting", meanwhile)
    assert [one.message for _, one in record.claim(runtime, ())] == [read]
    assert Undelivered.objects.get(message_id=written[0].id).process == before
    assert record.is_ours(runtime, row.uid, read)


@pytest.mark.parametrize("type", ["journal.drops", "route.without_target"])
def test_what_a_killed_process_told_of_is_sent_once_it_counts_as_gone(
    runtime: Runtime,
    clock: FakeClock,
    hook: Receiver,
    monkeypatch: pytest.MonkeyPatch,
    type: str,
) -> None:
    webhook(runtime, hook.url)
    living = {runtime.process_id, "killed"}
    monkeypatch.setattr(alerts, "_living", lambda runtime: living)
    look_and_send(runtime)  # it leads, and has taken over
    own, runtime.process_id = runtime.process_id, "killed"
    message = on_its_way(runtime, type)
    runtime.process_id = own
    clock.advance(alerts.CLAIM_EVERY_S)
    look_and_send(runtime)
    assert hook.got == []
    living.discard("killed")
    clock.advance(alerts.CLAIM_EVERY_S - 1)
    look_and_send(runtime)
    assert hook.got == []
    clock.advance(1)
    look_and_send(runtime)
    assert [named["webhook-id"] for named, _ in hook.got] == [message.id]
    for _ in range(3):
        clock.advance(alerts.CLAIM_EVERY_S)
        look_and_send(runtime)
    assert len(hook.got) == 1
    assert not Undelivered.objects.exists()


def test_what_is_this_process_s_already_is_not_claimed_again(
    runtime: Runtime, clock: FakeClock, hook: Receiver
) -> None:
    webhook(runtime, hook.url)
    on_its_way(runtime, "journal.drops")
    assert record.claim_left(runtime, {runtime.process_id}) == []
    (found,) = record.claim_left(runtime, {"next"})
    assert found[1].message.type == "journal.drops"
    clock.advance(record.STALE_S + 1)
    assert record.claim_left(runtime, {"next"}) == []


def test_what_is_left_and_cannot_be_read_is_claimed_at_the_next_look(
    runtime: Runtime, clock: FakeClock, hook: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    webhook(runtime, hook.url)
    look_and_send(runtime)
    own, runtime.process_id = runtime.process_id, "killed"
    on_its_way(runtime, "journal.drops")
    runtime.process_id = own
    clock.advance(alerts.CLAIM_EVERY_S)

    def fail(*given: object) -> None:
        raise OperationalError("gone")

    with monkeypatch.context() as gone:
        gone.setattr(record, "claim_left", fail)
        look_and_send(runtime)
    look_and_send(runtime)
    assert len(hook.got) == 1


def test_what_arrived_while_the_database_was_away_is_not_sent_after_a_restart(
    runtime: Runtime, clock: FakeClock, hook: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    webhook(runtime, hook.url)
    on_its_way(runtime)

    def fail(*given: object) -> None:
        raise OperationalError("gone")

    with monkeypatch.context() as gone:
        gone.setattr(record, "note", fail)
        look_and_send(runtime)
    assert (len(hook.got), Undelivered.objects.count()) == (1, 1)
    runtime.alerts._has_read = False  # it lost the lead, and has it again
    look_and_send(runtime)
    assert runtime.alerts.outbox.settled == {}
    assert not Undelivered.objects.exists()
    restarted(runtime)
    look_and_send(runtime)
    assert len(hook.got) == 1


def test_what_too_many_others_push_out_is_not_written_down_any_more(
    runtime: Runtime, clock: FakeClock, hook: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "MOST_WAITING", 1)
    hook.statuses = [500]
    webhook(runtime, hook.url)
    ours, others = on_its_way(runtime), on_its_way(runtime)
    look_and_send(runtime)
    Undelivered.objects.filter(message_id=others.id).update(process="next")
    latest = made("journal.drops", {}, clock())
    runtime.alerts.outbox.post(latest, clock())
    look_and_send(runtime)
    left = {row.message_id for row in Undelivered.objects.all()}
    assert left == {others.id, latest.id}
    assert ours.id not in left


def test_what_nobody_sends_any_more_is_deleted_in_time(
    runtime: Runtime, clock: FakeClock, hook: Receiver
) -> None:
    webhook(runtime, hook.url)
    on_its_way(runtime)
    clock.advance(record.STALE_S)
    on_its_way(runtime)
    assert dict(retention.delete_old(publishing.moment(runtime))) == {}
    clock.advance(1)
    assert dict(retention.delete_old(publishing.moment(runtime))) == {"undelivered": 1}
    assert Undelivered.objects.count() == 1
