"""The live socket on the real application: frames, refusals, and the end of a right."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from channels.testing import WebsocketCommunicator
from django.db import connections
from django.test import Client

from routeradmin.access.models import User
from routeradmin.asgi import Application
from routeradmin.console import tickets
from routeradmin.engine.state import CandidateKey
from routeradmin.services import changes
from routeradmin.services.runtime import Runtime
from tests.console.conftest import BY

pytestmark = pytest.mark.django_db(transaction=True)

NEAR = CandidateKey("near/by", "open")
Story = Callable[[Any], Awaitable[None]]


@pytest.fixture
def tell(
    transactional_db: None, catalog: Runtime, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Story], None]:
    """Runs a story on an event loop with the real application around it."""
    monkeypatch.setattr(tickets, "LOOK_INTERVAL_S", 0.05)

    async def whole(story: Story) -> None:
        application = Application()
        try:
            async with asyncio.timeout(20):
                await story(application)
        finally:
            await application.stop()
            await sync_to_async(connections.close_all)()  # the thread stays

    return lambda story: asyncio.run(whole(story))


def headers_of(browser: Client, origin: str = "http://testserver") -> list[tuple[bytes, bytes]]:
    cookie = "; ".join(f"{name}={morsel.value}" for name, morsel in browser.cookies.items())
    return [
        (b"host", b"testserver"),
        (b"origin", origin.encode()),
        (b"cookie", cookie.encode()),
    ]


@asynccontextmanager
async def socket(application: Any, headers: list[tuple[bytes, bytes]]) -> AsyncIterator[Any]:
    opened = WebsocketCommunicator(application, "/ws/console", headers)
    connected, _ = await opened.connect()
    assert connected
    try:
        yield opened
    finally:
        await opened.disconnect()


async def frame(opened: Any, kind: str) -> dict[str, Any]:
    """The next frame of that kind."""
    while True:
        told: dict[str, Any] = json.loads(await opened.receive_from(timeout=10))
        if told["kind"] == kind:
            return told


async def closing_code(opened: Any) -> int:
    while True:
        message = await opened.receive_output(timeout=10)
        if message["type"] == "websocket.close":
            return int(message["code"])


def test_a_viewer_is_greeted_and_told_of_a_change(
    tell: Callable[[Story], None], as_viewer: Client, catalog: Runtime
) -> None:
    async def story(application: Any) -> None:
        async with socket(application, headers_of(as_viewer)) as opened:
            hello = await frame(opened, "hello")
            await catalog.store.set_cooldown(NEAR, 600, "user:ada", "why", catalog.clock())
            update = await frame(opened, "update")
            assert (update["epoch"], update["revision"]) == (hello["epoch"], 1)
            assert update["previous_seq"] == hello["seq"] < update["seq"]
            assert "cooling" in update["content"]
            assert "cooldown-set" in update["content"]

    tell(story)


def test_a_path_without_a_socket_refuses_the_handshake(tell: Callable[[Story], None]) -> None:
    async def story(application: Any) -> None:
        for path in ("/ws/nothing", "/ws/console/more", "/"):
            opened = WebsocketCommunicator(application, path, [(b"host", b"testserver")])
            connected, _ = await opened.connect()
            assert not connected, path

    tell(story)


def test_a_publish_is_told_by_its_revision(
    tell: Callable[[Story], None], as_viewer: Client
) -> None:
    async def story(application: Any) -> None:
        async with socket(application, headers_of(as_viewer)) as opened:
            await frame(opened, "hello")
            await sync_to_async(changes.update)(
                "deployments", "near/by", {"weight": 2}, BY, if_match="*"
            )
            assert (await frame(opened, "update"))["revision"] == 2

    tell(story)


def test_script_in_a_message_is_text_in_a_frame(
    tell: Callable[[Story], None], as_viewer: Client, catalog: Runtime
) -> None:
    async def story(application: Any) -> None:
        async with socket(application, headers_of(as_viewer)) as opened:
            await frame(opened, "hello")
            evil = "</hx-partial><img src=x onerror=alert(1)>"
            await catalog.store.set_cooldown(NEAR, 600, "user:ada", evil, catalog.clock())
            content = (await frame(opened, "update"))["content"]
            assert "<img" not in content
            assert "&lt;img" in content

    tell(story)


def test_a_stranger_is_accepted_and_closed_with_4401(tell: Callable[[Story], None]) -> None:
    async def story(application: Any) -> None:
        async with socket(application, headers_of(Client())) as opened:
            assert await closing_code(opened) == 4401

    tell(story)


def test_a_page_of_another_origin_is_closed_with_4403(
    tell: Callable[[Story], None], as_viewer: Client
) -> None:
    async def story(application: Any) -> None:
        for origin in ("http://evil.example", "null", "http://testserver:81"):
            async with socket(application, headers_of(as_viewer, origin)) as opened:
                assert await closing_code(opened) == 4403

    tell(story)


def test_signing_out_closes_the_socket_and_a_new_one_is_refused(
    tell: Callable[[Story], None], as_viewer: Client, catalog: Runtime
) -> None:
    async def story(application: Any) -> None:
        headers = headers_of(as_viewer)
        async with socket(application, headers) as opened:
            await frame(opened, "hello")
            await sync_to_async(as_viewer.post)("/logout")
            assert await closing_code(opened) == 4401
        async with socket(application, headers) as opened:
            assert await closing_code(opened) == 4401

    tell(story)


@pytest.mark.parametrize("change", [{"is_active": False}, {"password": "unusable"}])
def test_losing_the_right_closes_the_socket(
    tell: Callable[[Story], None],
    as_viewer: Client,
    viewer: User,
    change: dict[str, Any],
) -> None:
    async def story(application: Any) -> None:
        async with socket(application, headers_of(as_viewer)) as opened:
            await frame(opened, "hello")
            await User.objects.filter(pk=viewer.pk).aupdate(**change)
            assert await closing_code(opened) == 4401

    tell(story)


def test_a_key_needs_the_scope_read(tell: Callable[[Story], None], catalog: Runtime) -> None:
    reader, reading = changes.create_key({"name": "r", "scopes": ["read"]}, BY)
    _, selecting = changes.create_key({"name": "s", "scopes": ["select"]}, BY)

    def with_key(token: str) -> list[tuple[bytes, bytes]]:
        return [(b"host", b"testserver"), (b"authorization", f"Bearer {token}".encode())]

    async def story(application: Any) -> None:
        async with socket(application, with_key(selecting)) as opened:
            assert await closing_code(opened) == 4403
        async with socket(application, with_key("rk_none")) as opened:
            assert await closing_code(opened) == 4401
        async with socket(application, with_key(reading)) as opened:
            await frame(opened, "hello")
            await sync_to_async(changes.revoke_key)(reader.uid, BY)
            assert await closing_code(opened) == 4403

    tell(story)


def test_two_keys_at_once_are_no_key(tell: Callable[[Story], None], catalog: Runtime) -> None:
    _, reading = changes.create_key({"name": "r", "scopes": ["read"]}, BY)
    keys = [(b"authorization", f"Bearer {token}".encode()) for token in ("rk_none", reading)]

    async def story(application: Any) -> None:
        async with socket(application, [(b"host", b"testserver"), *keys]) as opened:
            assert await closing_code(opened) == 4401

    tell(story)


def test_what_a_client_sends_is_ignored(
    tell: Callable[[Story], None], as_viewer: Client, catalog: Runtime
) -> None:
    async def story(application: Any) -> None:
        async with socket(application, headers_of(as_viewer)) as opened:
            await frame(opened, "hello")
            await opened.send_to(text_data="{")
            await catalog.store.set_cooldown(NEAR, 600, "user:ada", "why", catalog.clock())
            await frame(opened, "update")

    tell(story)
