"""Faults of event streams, as a raw client sees them."""

from __future__ import annotations

import zlib
from base64 import b64encode
from typing import Any

import pytest

from tests.adapters.simulated.raw import CHAT, HELLO, Raw

TOOLS = {
    "tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}],
    "tool_choice": "required",
}


def test_every_event_is_a_chunk_of_its_own(raw: Raw) -> None:
    answer = raw.chat(stream=True)

    assert answer.events[-1] == "[DONE]"
    assert all(piece.startswith(b"data: ") and piece.endswith(b"\n\n") for piece in answer.pieces)


def test_no_done_leaves_the_end_mark_out_and_double_done_sends_it_twice(raw: Raw) -> None:
    raw.script({"no_done": True}, {"double_done": True})

    assert raw.chat(stream=True).events.count("[DONE]") == 0
    assert raw.chat(stream=True).events.count("[DONE]") == 2


def test_no_finish_leaves_the_finish_reason_out(raw: Raw) -> None:
    raw.script({"no_finish": True})

    events = raw.chat(stream=True).events

    assert events[-1] == "[DONE]"
    assert all(event["choices"][0]["finish_reason"] is None for event in events[:-1])


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/responses"])
def test_streams_of_other_dialects_can_end_without_an_end(raw: Raw, path: str) -> None:
    raw.script({"no_done": True, "no_finish": True})

    kinds = [event["type"] for event in raw.call("POST", path, {**HELLO, "stream": True}).events]

    assert not {"message_stop", "message_delta", "response.completed"} & set(kinds)


@pytest.mark.parametrize(
    ("stage", "more", "roles", "texts", "tools", "finished"),
    [
        ("headers", {}, 0, 0, 0, 0),
        ("role", {}, 1, 0, 0, 0),
        ("text", {}, 1, 1, 0, 0),
        ("tool", TOOLS, 1, 0, 1, 0),
        ("end", {"max_tokens": 2}, 1, 2, 0, 1),
    ],
)
@pytest.mark.parametrize(("how", "ended"), [("close", "closed"), ("reset", "reset")])
def test_a_stream_breaks_after_the_stage_it_is_told(
    raw: Raw,
    stage: str,
    more: dict[str, Any],
    roles: int,
    texts: int,
    tools: int,
    finished: int,
    how: str,
    ended: str,
) -> None:
    raw.script({"break_after": stage, "how": how})

    answer = raw.chat(stream=True, **more)

    choices = [event["choices"][0] for event in answer.events]
    assert (answer.status, answer.ended) == (200, ended)
    assert sum("role" in choice["delta"] for choice in choices) == roles
    assert sum(bool(choice["delta"].get("content")) for choice in choices) == texts
    assert sum("tool_calls" in choice["delta"] for choice in choices) == tools
    assert sum(choice["finish_reason"] is not None for choice in choices) == finished


def test_a_break_can_wait_for_the_nth_of_its_stage(raw: Raw) -> None:
    raw.script({"break_after": "text", "break_nth": 3})

    answer = raw.chat(stream=True)

    assert len(answer.events) == 4
    assert answer.ended == "closed"


@pytest.mark.parametrize(
    ("path", "stage", "last"),
    [
        ("/v1/messages", "role", "message_start"),
        ("/v1/messages", "text", "content_block_delta"),
        ("/v1/messages", "end", "message_delta"),
        ("/v1/responses", "role", "response.created"),
        ("/v1/responses", "text", "response.output_text.delta"),
        ("/v1/responses", "end", "response.output_item.done"),
    ],
)
def test_streams_of_other_dialects_break_at_the_same_stages(
    raw: Raw, path: str, stage: str, last: str
) -> None:
    raw.script({"break_after": stage})

    answer = raw.call("POST", path, {**HELLO, "stream": True})

    assert answer.ended == "closed"
    assert answer.events[-1]["type"] == last


def test_an_error_frame_comes_where_it_is_told(raw: Raw) -> None:
    said = {"code": "rate_limit_exceeded", "message": "slow down"}
    raw.script({"error_in_200": said}, {"error_in_200": said, "error_after": "role"})

    first, later = raw.chat(stream=True), raw.chat(stream=True)

    assert [list(event) for event in first.events] == [["error"]]
    assert later.events[0]["choices"][0]["delta"]["role"] == "assistant"
    assert later.events[1]["error"]["code"] == "rate_limit_exceeded"
    assert later.ended == "complete"


def test_choices_can_be_empty_all_through_a_stream(raw: Raw) -> None:
    raw.script({"empty_choices": True})

    events = raw.chat(stream=True).events

    assert all(event["choices"] == [] for event in events[:-1])


def test_one_event_can_hold_cut_json(raw: Raw) -> None:
    raw.script({"cut_json": True})

    pieces = raw.chat(stream=True).pieces

    whole = [piece for piece in pieces if piece.rstrip().endswith((b"}", b"[DONE]"))]
    assert len(pieces) - len(whole) == 1
    assert all(piece.endswith(b"\n\n") for piece in pieces)


def test_chunks_are_written_as_they_are_given(raw: Raw) -> None:
    given = ["data: {", {"text": "}\n"}, {"base64": b64encode(b"\n\xff").decode(), "delay_ms": 1}]
    raw.script({"chunks": given})

    answer = raw.chat(stream=True)

    assert answer.pieces == [b"data: {", b"}\n", b"\n\xff"]
    assert answer.headers["content-type"].startswith("text/event-stream")


def test_chunks_can_break_off_too(raw: Raw) -> None:
    raw.script({"chunks": ["a", "b", "c"], "break_after": "text", "break_nth": 2, "how": "reset"})

    answer = raw.chat(stream=True)

    assert (answer.body, answer.ended) == (b"ab", "reset")


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_split_cuts_anywhere_and_loses_nothing(raw: Raw, size: int) -> None:
    raw.script({}, {"split": size})

    plain, split = raw.chat(stream=True, max_tokens=3), raw.chat(stream=True, max_tokens=3)

    assert all(len(piece) == size for piece in split.pieces[:-1])
    assert len(split.body) == len(plain.body)
    assert split.events[-1] == "[DONE]"


def test_comments_and_crlf_change_no_event(raw: Raw) -> None:
    raw.script({}, {"comments": True, "crlf": True})

    plain, dressed = raw.chat(stream=True), raw.chat(stream=True)

    texts = [[e["choices"] for e in answer.events[:-1]] for answer in (plain, dressed)]
    assert texts[0] == texts[1]
    assert dressed.body.count(b": keep-alive\r\n\r\n") == len(plain.pieces)


def test_gzip_packs_each_event_so_that_it_can_be_read_at_once(raw: Raw) -> None:
    raw.script({"gzip": True, "break_after": "text"})

    answer = raw.chat(stream=True)

    reader = zlib.decompressobj(wbits=31)
    events = [reader.decompress(piece) for piece in answer.pieces]
    assert all(event.startswith(b"data: ") and event.endswith(b"\n\n") for event in events)


def test_a_stream_can_come_with_a_length_instead_of_chunks(raw: Raw) -> None:
    raw.script({"chunks": ["data: [DONE]\n\n"], "content_length": 14})

    with raw.line() as line:
        line.send("POST", CHAT, b'{"model": "m", "stream": true}', {})
        answer = line.read()

    assert answer.headers["content-length"] == "14"
    assert (answer.body, answer.ended) == (b"data: [DONE]\n\n", "complete")
