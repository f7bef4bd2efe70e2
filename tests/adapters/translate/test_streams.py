"""Streams in the other dialect, put together again by the vendors' own clients' models."""

from __future__ import annotations

import json
from typing import Any

import anthropic.types
import openai.types.chat
import pytest
from pydantic import TypeAdapter

from routeradmin.adapters.translate import (
    BadAnswer,
    ChatChunks,
    MessageEvents,
    chat_frame,
    messages_frame,
)
from routeradmin.adapters.translate.words import call_id

START = {
    "type": "message_start",
    "message": {
        "id": "msg_1",
        "model": "m",
        "usage": {"input_tokens": 5, "output_tokens": 1, "cache_read_input_tokens": 2},
    },
}


def block(index: int, content: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": index, "content_block": content},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def tool(name: str, **more: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"id-{name}", "name": name, "input": {}, **more}


def part(text: str) -> dict[str, str]:
    return {"type": "input_json_delta", "partial_json": text}


END = [
    {
        "type": "message_delta",
        "delta": {"stop_reason": "tool_use", "stop_sequence": None},
        "usage": {"output_tokens": 9},
    },
    {"type": "message_stop"},
]
EVENTS = [
    START,
    {"type": "ping"},
    *block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "Hi"}),
    *block(1, tool("f"), part(""), part('{"a":'), part("1}")),
    *block(2, tool("g")),
    *block(3, tool("h", input={"b": 2})),
    *END,
]


def chunks(*events: dict[str, Any], include_usage: bool = True) -> list[dict[str, Any]]:
    stream = ChatChunks(created_s=9, include_usage=include_usage)
    return [chunk for event in events for chunk in stream.feed(event)]


def test_messages_events_become_chunks() -> None:
    made = chunks(*EVENTS)
    for chunk in made:
        openai.types.chat.ChatCompletionChunk.model_validate(chunk, strict=True)
        assert (chunk["id"], chunk["model"], chunk["created"]) == ("msg_1", "m", 9)
    *content, finish, usage = made
    assert content[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert "".join(c["choices"][0]["delta"].get("content", "") for c in content) == "Hi"
    assert finish["choices"][0]["finish_reason"] == "tool_calls"
    assert usage["choices"] == []
    assert usage["usage"]["prompt_tokens"] == 7
    assert usage["usage"]["completion_tokens"] == 9


def test_tool_calls_are_numbered_and_their_arguments_are_whole() -> None:
    calls: dict[int, dict[str, str]] = {}
    for chunk in chunks(*EVENTS):
        for choice in chunk["choices"]:
            for call in choice["delta"].get("tool_calls", []):
                known = calls.setdefault(call["index"], {"id": "", "name": "", "arguments": ""})
                known["id"] += call.get("id", "")
                known["name"] += call["function"].get("name", "")
                known["arguments"] += call["function"].get("arguments", "")
    assert calls == {
        0: {"id": "id-f", "name": "f", "arguments": '{"a":1}'},
        1: {"id": "id-g", "name": "g", "arguments": "{}"},
        2: {"id": "id-h", "name": "h", "arguments": '{"b":2}'},
    }


def test_usage_comes_only_on_request_and_the_end_is_known() -> None:
    stream = ChatChunks(created_s=9, include_usage=False)
    made = [chunk for event in EVENTS for chunk in stream.feed(event)]
    assert stream.ended
    assert not any("usage" in chunk for chunk in made)


def test_an_error_event_becomes_an_error_frame() -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Busy"}}
    assert chunks(START, error)[1]["error"]["message"] == "Busy"


@pytest.mark.parametrize(
    "event", [{}, {"type": "message_start"}, {"type": "content_block_delta", "index": 0}]
)
def test_events_of_another_shape_are_refused(event: dict[str, Any]) -> None:
    with pytest.raises(BadAnswer):
        chunks(event)


def chunk(delta: dict[str, Any] | None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    return {"id": "c1", "model": "m", "choices": choices, **more}


def call(index: int, **fields: Any) -> dict[str, Any]:
    return {"tool_calls": [{"index": index, **fields}]}


USAGE = {
    "prompt_tokens": 7,
    "completion_tokens": 9,
    "prompt_tokens_details": {"cached_tokens": 2},
}
CHUNKS = [
    chunk({"role": "assistant", "content": ""}),
    chunk({"content": "Hi"}),
    chunk({"content": " there"}),
    chunk(call(0, id="t0", type="function", function={"name": "f", "arguments": ""})),
    chunk(call(0, function={"arguments": '{"a":'})),
    chunk(call(0, function={"arguments": "1}"})),
    chunk(call(1, id="t1", function={"arguments": "{"})),
    chunk(call(1, function={"name": "g", "arguments": "}"})),
    chunk({}, "tool_calls"),
    chunk(None, usage=USAGE),
    {"id": "c1", "model": "m"},
]


def events(*given: dict[str, Any]) -> list[dict[str, Any]]:
    stream = MessageEvents()
    made = [event for chunk_ in given for event in stream.feed(chunk_)]
    return made + stream.finish()


def test_chunks_become_messages_events() -> None:
    made = events(*CHUNKS)
    reader: TypeAdapter[Any] = TypeAdapter(anthropic.types.RawMessageStreamEvent)
    for event in made:
        reader.validate_python(event)
    blocks: dict[int, str] = {}
    for event in made:
        if event["type"] == "content_block_delta":
            delta = event["delta"]
            blocks.setdefault(event["index"], "")
            blocks[event["index"]] += delta.get("text", "") + delta.get("partial_json", "")
    assert blocks == {0: "Hi there", 1: '{"a":1}', 2: "{}"}
    starts = [e["content_block"] for e in made if e["type"] == "content_block_start"]
    assert [b.get("name") for b in starts] == [None, "f", "g"]
    assert [b.get("id") for b in starts] == [None, "t0", "t1"]
    assert made[-2]["delta"]["stop_reason"] == "tool_use"
    assert made[-2]["usage"] == {
        "input_tokens": 5,
        "output_tokens": 9,
        "cache_read_input_tokens": 2,
    }
    assert made[-1] == {"type": "message_stop"}


def test_blocks_open_and_close_one_after_the_other() -> None:
    open_block: int | None = None
    for event in events(*CHUNKS):
        if event["type"] == "content_block_start":
            assert open_block is None
            open_block = event["index"]
        elif event["type"] == "content_block_stop":
            assert open_block == event["index"]
            open_block = None
        elif event["type"] == "content_block_delta":
            assert open_block == event["index"]
    assert open_block is None


CUT = [
    ("length", "max_tokens"),
    ("model_length", "model_context_window_exceeded"),
    ("content_filter", "refusal"),
]


def stop_of(made: list[dict[str, Any]]) -> str:
    return str(made[-2]["delta"]["stop_reason"])


@pytest.mark.parametrize(("finish", "stop"), CUT)
def test_a_stream_cut_inside_a_tool_call_ends_well(finish: str, stop: str) -> None:
    made = events(*CHUNKS[:5], chunk({}, finish))
    assert stop_of(made) == stop
    assert made[-4]["delta"] == {"type": "input_json_delta", "partial_json": '{"a":'}
    assert made[-3] == {"type": "content_block_stop", "index": 1}


@pytest.mark.parametrize(("finish", "stop"), CUT)
def test_a_stream_cut_before_a_tool_has_its_name_ends_well(finish: str, stop: str) -> None:
    made = events(*CHUNKS[:7], chunk({}, finish))
    assert stop_of(made) == stop
    assert [e["content_block"].get("name") for e in made if "content_block" in e] == [None, "f"]


def test_a_stream_that_ends_by_itself_before_a_tool_has_its_name_is_refused() -> None:
    with pytest.raises(BadAnswer, match="inside a tool call"):
        events(*CHUNKS[:7], chunk({}, "tool_calls"))


@pytest.mark.parametrize("given", [None, "", {}, {"a": 1}])
def test_arguments_of_a_stream_may_be_none_or_an_object(given: Any) -> None:
    made = events(chunk(call(0, id="t0", function={"name": "f", "arguments": given}), "tool_calls"))
    parts = [e["delta"]["partial_json"] for e in made if e["type"] == "content_block_delta"]
    assert json.loads("".join(parts) or "{}") == (given or {})


@pytest.mark.parametrize("parts", [["null"], ["nu", "ll"], [" ", "null", " "], ["", " "]])
def test_a_stream_without_arguments_passes_on_no_input(parts: list[str]) -> None:
    begun = chunk(call(0, id="t0", function={"name": "f", "arguments": ""}))
    more = [chunk(call(0, function={"arguments": text})) for text in parts]
    made = events(begun, *more, chunk({}, "tool_calls"))
    assert [e["type"] for e in made[1:3]] == ["content_block_start", "content_block_stop"]


@pytest.mark.parametrize("arguments", ['{"a":', "[1]", "nu", "nullx", '"x"'])
def test_streamed_arguments_that_are_no_object_are_refused_at_their_end(arguments: str) -> None:
    begun = chunk(call(0, id="t0", function={"name": "f", "arguments": arguments}))
    for more in ([], [chunk(call(1, id="t1", function={"name": "g", "arguments": "{}"}))]):
        with pytest.raises(BadAnswer, match="tool call without an input"):
            events(begun, *more, chunk({}, "tool_calls"))


def test_a_streamed_call_in_the_words_from_before_tools_is_one() -> None:
    made = events(
        chunk({"function_call": {"name": "f", "arguments": ""}}),
        chunk({"function_call": {"arguments": '{"a":'}}),
        chunk({"function_call": {"arguments": "1}"}}),
        chunk({}, "function_call"),
    )
    assert made[1]["content_block"] == {**tool("f"), "id": call_id(None, "c1", 0)}
    parts = [e["delta"]["partial_json"] for e in made if e["type"] == "content_block_delta"]
    assert "".join(parts) == '{"a":1}'
    assert stop_of(made) == "tool_use"


def test_a_streamed_call_without_an_id_gets_one() -> None:
    made = events(chunk(call(2, id="", function={"name": "f", "arguments": "{}"}), "tool_calls"))
    assert made[1]["content_block"]["id"] == call_id(None, "c1", 2)


@pytest.mark.parametrize("finish", ["stop", "tool_calls", "some day"])
def test_whether_a_stream_calls_tools_is_for_its_calls_to_say(finish: str) -> None:
    assert stop_of(events(*CHUNKS[:8], chunk({}, finish))) == "tool_use"
    assert stop_of(events(*CHUNKS[:3], chunk({}, finish))) == "end_turn"


@pytest.mark.parametrize(
    ("stop", "finish"),
    [("end_turn", "tool_calls"), ("max_tokens", "length"), ("refusal", "content_filter")],
)
def test_a_stream_of_messages_with_calls_finishes_with_calls_unless_it_was_cut(
    stop: str, finish: str
) -> None:
    end = {"type": "message_delta", "delta": {"stop_reason": stop}}
    made = chunks(START, *block(0, tool("f"), part("{}")), end)
    assert made[-1]["choices"][0]["finish_reason"] == finish


def test_a_stream_without_an_end_is_refused() -> None:
    with pytest.raises(BadAnswer, match="without an end"):
        events(*CHUNKS[:5])


def test_a_tool_call_that_comes_back_later_is_refused() -> None:
    with pytest.raises(BadAnswer, match="earlier tool call"):
        events(*CHUNKS[:8], chunk(call(0, function={"arguments": "x"})))


def test_an_error_chunk_becomes_an_error_event() -> None:
    assert MessageEvents().feed({"error": {"message": "Busy"}}) == [
        {"type": "error", "error": {"type": "api_error", "message": "Busy"}}
    ]


def test_frames_are_written_as_each_dialect_has_them() -> None:
    assert chat_frame({"a": "\u2028"}) == 'data: {"a":"\u2028"}\n\n'.encode()
    name, data, *_ = messages_frame({"type": "ping"}).split(b"\n")
    assert name == b"event: ping"
    assert json.loads(data.removeprefix(b"data: ")) == {"type": "ping"}


@pytest.mark.parametrize(
    "usage",
    [
        "much",
        [1],
        {"prompt_tokens": "7", "completion_tokens": None},
        {"prompt_tokens": [7], "completion_tokens": -9},
        {"prompt_tokens_details": [2]},
        {"prompt_tokens_details": {"cached_tokens": {}}},
    ],
)
def test_usage_that_is_none_does_not_cost_the_answer(usage: Any) -> None:
    made = events(chunk({"content": "Hi"}, "stop"), chunk(None, usage=usage))
    assert made[-1] == {"type": "message_stop"}
    assert made[-2]["usage"] == {"input_tokens": 0, "output_tokens": 0}
