"""Heads of answers travel with their bodies, and never wait for one that does not come."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from routeradmin.worker.connections import JOINED_BYTES, Connection, Corked, Draining

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


class Open(Connection):
    """A connection on which an answer is under way, or none; counts its closings."""

    def __init__(self, is_busy: bool) -> None:
        self.busy, self.closed = is_busy, 0

    @property
    def is_busy(self) -> bool:
        return self.busy

    def shutdown(self) -> None:
        self.closed += 1


def test_a_stopping_process_closes_a_connection_only_once_it_was_quiet_for_a_while() -> None:
    draining, idle, streaming = Draining(2.0), Open(is_busy=False), Open(is_busy=True)
    both = {idle, streaming}
    for now in (0.0, 1.9):
        draining.look(both, now)
        assert (idle.closed, streaming.closed) == (0, 0)
    for now in (2.0, 2.1, 9.0):
        draining.look(both, now)
        assert (idle.closed, streaming.closed) == (1, 0)
    streaming.busy = False
    for now in (9.1, 11.0):
        draining.look(both, now)
        assert streaming.closed == 0  # its owner may be about to ask again
    streaming.busy = True
    draining.look(both, 11.2)
    streaming.busy = False
    for now in (11.3, 13.2):
        draining.look(both, now)
        assert streaming.closed == 0
    draining.look(both, 13.4)
    assert streaming.closed == 1
