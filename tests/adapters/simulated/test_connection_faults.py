"""Silence, refusals, resets and wrong lengths: what happens below HTTP."""

from __future__ import annotations

import json

import pytest

from tests.adapters.simulated.raw import CHAT, HELLO, Raw

PLAIN = json.dumps(HELLO).encode()
STREAM = json.dumps({**HELLO, "stream": True}).encode()
AN_HOUR_MS = 3_600_000


def test_a_refused_call_ends_before_any_header(raw: Raw) -> None:
    raw.script({"refuse": True})

    answer = raw.chat()

    assert (answer.status, answer.ended) == (None, "closed")


def test_a_reset_call_ends_with_a_tcp_reset(raw: Raw) -> None:
    raw.script({"reset": True})

    answer = raw.chat()

    assert (answer.status, answer.ended) == (None, "reset")


@pytest.mark.parametrize("stream", [False, True])
def test_a_reset_can_come_after_the_headers(raw: Raw, stream: bool) -> None:
    raw.script({"reset": "headers"})

    answer = raw.chat(stream=stream)

    assert (answer.status, answer.body, answer.ended) == (200, b"", "reset")


@pytest.mark.parametrize(("how", "ended"), [("close", "closed"), ("reset", "reset")])
def test_a_plain_body_breaks_in_its_middle(raw: Raw, how: str, ended: str) -> None:
    raw.script({"break_after": "text", "how": how})

    answer = raw.chat()

    assert answer.ended == ended
    assert len(answer.body) == int(answer.headers["content-length"]) // 2


def test_a_plain_answer_can_be_whole_and_the_connection_still_break(raw: Raw) -> None:
    raw.script({"break_after": "end", "how": "reset"})

    with raw.line() as line:
        line.send("POST", CHAT, PLAIN, {})
        first = line.read()
        line.socket.settimeout(10)
        again = line.read()

    assert (first.ended, again.ended) == ("complete", "reset")
    assert first.json["choices"]


def test_a_length_above_the_body_s_leaves_the_reader_short(raw: Raw) -> None:
    raw.script({"body": "short", "content_length": 50})

    answer = raw.chat()

    assert (answer.body, answer.ended) == (b"short", "closed")


def test_a_length_below_the_body_s_cuts_it(raw: Raw) -> None:
    raw.script({"body": "too long", "content_length": 3})

    assert raw.chat().body == b"too"


def test_silence_takes_the_call_and_says_nothing_until_the_client_leaves(raw: Raw) -> None:
    raw.script({"silence": True})

    with raw.line() as line:
        line.send("POST", CHAT, PLAIN, {})
        counts = raw.calls_when(lambda counts: counts["concurrent"] == 1)
        assert counts["requests"][-1]["done"] is False
        assert line.buffer == b""

    counts = raw.calls_when(lambda counts: counts["concurrent"] == 0)
    assert counts["requests"][-1]["aborted"] is True
    assert counts["statuses"] == {"none": 1}


@pytest.mark.parametrize("stage", ["headers", "role", "text", "end"])
def test_a_stream_can_fall_silent_at_any_stage(raw: Raw, stage: str) -> None:
    raw.script({"break_after": stage, "how": "silence"})
    mark = {"headers": b"\r\n\r\n", "role": b'"role"', "text": b'"content"', "end": b'"stop"'}

    with raw.line() as line:
        line.send("POST", CHAT, STREAM, {})
        line.read_until(b"\r\n\r\n")
        if stage != "headers":
            line.read_until(mark[stage])
        assert raw.calls()["open_streams"] == 1

    counts = raw.calls_when(lambda counts: counts["open_streams"] == 0)
    assert counts["aborted"] == 1


def test_a_delay_holds_the_headers_back(raw: Raw) -> None:
    raw.script({"delay_ms": AN_HOUR_MS})

    with raw.line() as line:
        line.send("POST", CHAT, PLAIN, {})
        assert raw.calls_when(lambda counts: counts["concurrent"] == 1)["requests"][-1]["status"]
        assert line.buffer == b""

    assert raw.calls_when(lambda counts: counts["aborted"] == 1)


def test_a_chunk_delay_lets_the_first_event_through_and_holds_the_next(raw: Raw) -> None:
    raw.script({"chunk_delay_ms": AN_HOUR_MS})

    with raw.line() as line:
        line.send("POST", CHAT, STREAM, {})
        line.read_until(b"\r\n\r\n")
        assert b'"role"' in line.read_until(b"\n\n\r\n")
        assert raw.calls()["open_streams"] == 1
        assert line.buffer == b""

    assert raw.calls_when(lambda counts: counts["aborted"] == 1)["open_streams"] == 0


def test_pipelined_requests_are_answered_in_their_order(raw: Raw) -> None:
    raw.script({"split": 10, "text": "first"}, {"text": "second"}, {"split": 10, "text": "third"})

    with raw.line() as line:
        for _ in range(3):
            line.send("POST", CHAT, PLAIN, {})
        texts = [line.read().json["choices"][0]["message"]["content"] for _ in range(3)]

    assert texts == ["first", "second", "third"]


def test_a_client_that_asks_to_close_is_closed_after_its_answer(raw: Raw) -> None:
    with raw.line() as line:
        line.send("POST", CHAT, PLAIN, {"connection": "close"})
        assert line.read().ended == "complete"
        assert line.read().ended == "closed"


def test_a_client_that_waits_for_100_continue_gets_it(raw: Raw) -> None:
    with raw.line() as line:
        line.send("POST", CHAT, PLAIN, {"expect": "100-continue"})
        assert line.read_until(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        assert line.read().status == 200


def test_what_is_not_http_is_refused(raw: Raw) -> None:
    with raw.line() as line:
        line.socket.sendall(b"\x16\x03\x01 hello\r\n\r\n")

        answer = line.read()
        assert (answer.status, answer.ended) == (400, "complete")
        assert line.read().ended == "closed"
