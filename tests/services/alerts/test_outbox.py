"""Delivery: signed, retried, bounded; one bad receiver is nobody else's trouble."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
from collections.abc import Iterator

import orjson
import pytest

from routeradmin.adapters import webhooks
from routeradmin.adapters.sealing import Secret
from routeradmin.services.alerts import messages, outbox
from routeradmin.services.alerts.outbox import Attempted, Outbox, Waiting
from routeradmin.services.alerts.sending import Sent
from routeradmin.services.alerts.targets import Target, Targets
from routeradmin.services.runtime import Runtime
from tests.conftest import FakeClock
from tests.receiver import Receiver, receiver

SECRET = webhooks.new_secret()


class Post:
    """An outbox over one event loop, and what it said of its attempts."""

    def __init__(self, runtime: Runtime, runner: asyncio.Runner) -> None:
        self.runtime = runtime
        self.runner = runner
        self.targets = Targets()
        self.sent: list[tuple[str, Sent]] = []
        self.made: list[Attempted] = []
        self.outbox = Outbox(self.targets, self._told)

    async def _told(self, made: Attempted) -> None:
        self.sent.append((made.webhook, made.sent))
        self.made.append(made)

    def to(self, url: str, *events: str, id: str = "wh", is_enabled: bool = True) -> None:
        known = {one.id: one for one in self.targets}
        known[id] = Target(id, url, frozenset(events), is_enabled, SECRET)
        self.targets._by_id = known

    def post(self, type: str = "route.without_target") -> messages.Message:
        made = messages.made(type, {"n": 1}, self.runtime.clock())
        self.outbox.post(made, self.runtime.clock())
        return made

    def deliver(self) -> None:
        async def once() -> None:
            self.outbox.start_due(self.runtime)
            await self.outbox.settle()

        self.runner.run(once())


@pytest.fixture
def post(bare_runtime: Runtime) -> Iterator[Post]:
    with asyncio.Runner() as runner:
        yield Post(bare_runtime, runner)
        runner.run(bare_runtime.upstream.close())


@pytest.fixture
def hook() -> Iterator[Receiver]:
    with receiver() as held:
        yield held


def test_a_message_arrives_signed_at_the_whole_url(post: Post, hook: Receiver) -> None:
    post.to(hook.url)
    message = post.post()
    post.deliver()
    ((headers, body),) = hook.got
    assert headers[":path"] == "/hook?a=1"
    assert headers["webhook-id"] == message.id
    signed = f"{message.id}.{headers['webhook-timestamp']}.".encode() + body
    expected = hmac.new(webhooks.key_of(SECRET), signed, hashlib.sha256).digest()
    assert headers["webhook-signature"] == "v1," + base64.b64encode(expected).decode()
    content = orjson.loads(body)
    assert content["type"] == "route.without_target"
    assert content["timestamp"] == "2026-01-01T00:00:00.000Z"
    assert post.outbox.waiting == 0


def test_a_refused_message_is_tried_again_later_under_the_same_id(
    post: Post, hook: Receiver, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    hook.statuses[:] = [500, 302, 200]
    post.to(hook.url)
    post.post()
    for advance, arrived in ((0, 1), (4, 1), (1, 2), (29, 2), (1, 3), (9999, 3)):
        clock.advance(advance)
        post.deliver()
        assert len(hook.got) == arrived
    ids = {headers["webhook-id"] for headers, _ in hook.got}
    assert len(ids) == 1
    assert len({headers["webhook-timestamp"] for headers, _ in hook.got}) == 3
    assert len({headers["webhook-signature"] for headers, _ in hook.got}) == 3
    assert [sent.status for _, sent in post.sent] == [500, 302, 200]
    assert [(made.attempt, made.wait_s) for made in post.made] == [(1, 5), (2, 30), (3, None)]
    assert "the receiver answered 500" in caplog.text
    assert "/hook" not in caplog.text


@pytest.mark.parametrize(("status", "attempts"), [(500, 6), (410, 1)])
def test_it_gives_up_in_the_end_and_at_once_where_nobody_wants_more(
    post: Post, hook: Receiver, clock: FakeClock, status: int, attempts: int
) -> None:
    hook.statuses[:] = [status]
    post.to(hook.url)
    post.post()
    for _ in range(10):
        post.deliver()
        clock.advance(2000)
    assert len(hook.got) == attempts
    assert post.outbox.waiting == 0


def test_only_what_a_webhook_asked_for_is_sent(post: Post, hook: Receiver) -> None:
    post.to(hook.url, "journal.drops")
    post.to(hook.url, id="off", is_enabled=False)
    post.post()
    post.post("journal.drops")
    post.deliver()
    assert [orjson.loads(body)["type"] for _, body in hook.got] == ["journal.drops"]


@pytest.mark.parametrize(
    "url", ["http://169.254.169.254/x", "http://10.0.0.1/x", "http://metadata.google.internal/x"]
)
def test_addresses_out_of_bounds_are_never_connected_to(post: Post, url: str) -> None:
    post.to(url)
    post.post()
    post.deliver()
    ((_, sent),) = post.sent
    assert (sent.ok, sent.status) == (False, None)
    assert "never called" in sent.detail or "not allowed" in sent.detail


def test_a_receiver_that_is_gone_holds_up_no_other(post: Post, hook: Receiver) -> None:
    post.to("http://127.0.0.1:9/x", id="gone")
    post.to(hook.url)
    post.post()
    post.deliver()
    assert len(hook.got) == 1
    assert {id: sent.ok for id, sent in post.sent} == {"gone": False, "wh": True}


def test_too_many_in_ten_minutes_are_counted_instead(
    post: Post, hook: Receiver, clock: FakeClock
) -> None:
    post.to(hook.url)
    for _ in range(outbox.MOST_IN_WINDOW + 7):
        post.post()
    for _ in range(outbox.MOST_IN_WINDOW + 7):
        post.deliver()
    assert len(hook.got) == outbox.MOST_IN_WINDOW
    clock.advance(outbox.RATE_WINDOW_S)
    post.post()
    post.deliver()
    post.deliver()
    first, second = (orjson.loads(body) for _, body in hook.got[-2:])
    assert (first["type"], first["data"]) == ("alerts.suppressed", {"count": 7})
    assert second["type"] == "route.without_target"


def test_what_waits_for_a_deleted_webhook_is_dropped(post: Post, hook: Receiver) -> None:
    post.to(hook.url)
    post.post()
    post.targets._by_id = {}
    post.deliver()
    assert hook.got == []
    assert post.outbox.waiting == 0


def test_no_text_form_of_a_target_holds_its_secret_or_url() -> None:
    target = Target("wh", "https://x.example/token-123", frozenset(), True, Secret("whsec_abc"))
    assert "token-123" not in repr(target)
    assert "whsec_abc" not in repr(target)


def test_what_another_process_goes_on_with_is_left_to_it(post: Post, hook: Receiver) -> None:
    asked: list[str] = []

    async def ours(webhook: str, message: messages.Message) -> bool:
        asked.append(message.id)
        return False

    post.to(hook.url)
    post.outbox = Outbox(post.targets, post._told, ours)
    message = post.post()
    ((_, waiting),) = post.outbox.unkept()
    waiting.is_kept = True
    post.deliver()
    assert (asked, hook.got, post.outbox.waiting) == ([message.id], [], 0)


def test_a_message_is_resumed_once(post: Post, hook: Receiver) -> None:
    post.to(hook.url)
    message = post.post()
    for _ in range(2):
        post.outbox.resume("wh", Waiting(message, post.runtime.clock()))
    assert post.outbox.waiting == 1


def test_what_is_settled_is_remembered_within_bounds_and_not_resumed(
    post: Post, hook: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "MOST_SETTLED", 2)
    post.to(hook.url)
    sent = [post.post() for _ in range(3)]
    for _ in sent:
        post.deliver()
    assert list(post.outbox.settled) == [("wh", one.id) for one in sent[1:]]
    post.outbox.resume("wh", Waiting(sent[2], post.runtime.clock()))
    assert post.outbox.waiting == 0
    post.outbox.forget([("wh", sent[2].id)])
    assert list(post.outbox.settled) == [("wh", sent[1].id)]
