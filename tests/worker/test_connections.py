"""Heads of answers travel with their bodies, and never wait for one that does not come."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from routeradmin.worker.connections import JOINED_BYTES, Corked

HEAD = b"HTTP/1.1 200 OK\r\n\r\n"


class Transport:
    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.is_closed = False

    def write(self, data: bytes) -> None:
        assert not self.is_closed
        self.written.append(data)

    def close(self) -> None:
        self.is_closed = True

    def is_closing(self) -> bool:
        return self.is_closed


def written(*steps: Any) -> Transport:
    """What a transport got of these writes; None lets the event loop turn."""

    async def scenario() -> Transport:
        transport = Transport()
        corked = Corked(cast(asyncio.Transport, transport), asyncio.get_running_loop())
        for step in steps:
            if step is None:
                await asyncio.sleep(0)
            elif step == "close":
                corked.close()
                assert corked.is_closing()
            else:
                corked.write(step)
        return transport

    return asyncio.run(scenario())


def test_a_head_and_its_body_are_one_write() -> None:
    assert written(HEAD, b"{}", None).written == [HEAD + b"{}"]


def test_a_head_alone_goes_out_at_the_next_turn() -> None:
    assert written(HEAD, None, b"1\r\na\r\n").written == [HEAD, b"1\r\na\r\n"]


def test_frames_are_passed_on_at_once() -> None:
    assert written(HEAD, b"a", b"b").written == [HEAD + b"a", b"b"]


def test_a_large_body_is_not_copied() -> None:
    body = b"x" * (JOINED_BYTES + 1)
    assert written(HEAD, body, None).written == [HEAD, body]


def test_closing_sends_what_waits_first() -> None:
    transport = written(HEAD, "close", None)
    assert transport.written == [HEAD]
    assert transport.is_closed


def test_two_answers_on_one_connection_keep_their_order() -> None:
    assert written(HEAD, b"{}", HEAD, b"[]", None).written == [HEAD + b"{}", HEAD + b"[]"]
