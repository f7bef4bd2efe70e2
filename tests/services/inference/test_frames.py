"""Which frames are visible, which end a stream, and what it used."""

from __future__ import annotations

import json
from typing import Any

import pytest

from routeradmin.adapters.sse import Event
from routeradmin.services.inference.frames import BadFrame, ErrorFrame, Judge, Kind, judge_for
from routeradmin.services.inference.usage import Usage, of


def event(document: Any, name: str = "") -> Event:
    data = document if isinstance(document, bytes) else json.dumps(document).encode()
    return Event(b"data: " + data + b"\n\n", data, name)


def see(judge: Judge, *documents: Any) -> list[Kind]:
    return [judge.see(event(document))[0] for document in documents]


def choice(index: int = 0, finish: str | None = None) -> dict[str, Any]:
    return {"choices": [{"index": index, "delta": {}, "finish_reason": finish}]}


def test_a_chat_ends_when_every_choice_has_finished() -> None:
    judge = judge_for("chat-completions", 2, hide_usage=True)
    assert see(judge, choice(0), choice(1), choice(1, "stop")) == [Kind.VISIBLE] * 3
    assert not judge.ended
    see(judge, choice(0, "length"))
    assert judge.ended


def test_a_mark_ends_a_chat_that_has_begun_and_is_not_passed_on() -> None:
    judge = judge_for("chat-completions", 1, hide_usage=True)
    assert see(judge, b"[DONE]") == [Kind.HIDDEN]
    assert not judge.ended
    see(judge, choice())
    assert judge.ended


def test_the_usage_chunk_is_hidden_from_those_who_did_not_ask() -> None:
    chunk = {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4}}
    for hides, kind in ((True, Kind.HIDDEN), (False, Kind.QUIET)):
        judge = judge_for("chat-completions", 1, hide_usage=hides)
        assert see(judge, chunk) == [kind]
        assert judge.usage == Usage(3, 4)
    assert see(judge, {"choices": []}, {"id": "x"}, {"choices": None}) == [Kind.QUIET] * 3


def test_a_message_runs_from_its_start_to_its_stop() -> None:
    judge = judge_for("messages", 1, hide_usage=False)
    start = {"type": "message_start", "message": {"usage": {"input_tokens": 9}}}
    delta = {"type": "message_delta", "usage": {"output_tokens": 4}}
    stop = {"type": "message_stop"}
    kinds = see(judge, start, {"type": "ping"}, delta)
    assert kinds == [Kind.VISIBLE, Kind.QUIET, Kind.VISIBLE]
    assert not judge.ended
    assert see(judge, stop) == [Kind.LAST]
    assert judge.ended
    assert judge.usage == Usage(9, 4)


@pytest.mark.parametrize("last", ["response.completed", "response.incomplete"])
def test_a_response_ends_with_its_last_event(last: str) -> None:
    judge = judge_for("responses", 1, hide_usage=False)
    assert see(judge, {"type": "response.created", "response": {"error": None}}) == [Kind.VISIBLE]
    done = {"type": last, "response": {"usage": {"input_tokens": 1, "output_tokens": 2}}}
    assert see(judge, done) == [Kind.LAST]
    assert judge.ended
    assert judge.usage == Usage(1, 2)


@pytest.mark.parametrize(
    ("protocol", "document"),
    [
        ("chat-completions", {"error": {"message": "x"}}),
        ("chat-completions", {"error": "x"}),
        ("messages", {"type": "error", "error": {"message": "x"}}),
        ("responses", {"type": "error", "message": "x"}),
        ("responses", {"type": "response.failed", "response": {"error": {"message": "x"}}}),
    ],
)
def test_error_objects_are_found(protocol: str, document: Any) -> None:
    with pytest.raises(ErrorFrame):
        see(judge_for(protocol, 1, hide_usage=True), document)


@pytest.mark.parametrize("data", [b'{"cut":', b"[]", b"7", b'{"a":"\xff"}'])
@pytest.mark.parametrize("protocol", ["chat-completions", "messages", "responses"])
def test_what_is_no_object_is_a_bad_frame(protocol: str, data: bytes) -> None:
    with pytest.raises(BadFrame):
        see(judge_for(protocol, 1, hide_usage=True), data)


def test_usage_that_is_not_reported_is_unknown() -> None:
    assert of(None) == of({}) == of({"prompt_tokens": None, "x": 1}) == Usage(None, None)
    assert of({"prompt_tokens": True, "completion_tokens": -1}) == Usage(None, None)
    assert of({"prompt_tokens": 2**64 - 1, "completion_tokens": 2**53}) == Usage(None, 2**53)
    assert of({"input_tokens": 5, "cache_read_input_tokens": 7}) == Usage(12, None)


@pytest.mark.parametrize("choices", [5, "abc", {"a": 1}, True])
def test_choices_that_are_no_list_are_no_frame(choices: Any) -> None:
    with pytest.raises(BadFrame, match="no list"):
        see(judge_for("chat-completions", 1, hide_usage=True), {"choices": choices})


def test_a_choice_without_a_proper_number_is_the_first() -> None:
    judge = judge_for("chat-completions", 1, hide_usage=True)
    see(judge, {"choices": [{"index": [1], "finish_reason": "stop"}]})
    assert judge.ended


@pytest.mark.parametrize("protocol", ["messages", "responses"])
@pytest.mark.parametrize("kind", [[], {}, 5, None])
def test_an_event_whose_type_is_no_name_ends_nothing(protocol: str, kind: Any) -> None:
    judge = judge_for(protocol, 1, hide_usage=False)
    assert see(judge, {"type": kind, "delta": "x"}) == [Kind.VISIBLE]
    assert not judge.ended


@pytest.mark.parametrize(
    ("protocol", "before"),
    [
        ("chat-completions", [choice(), b"[DONE]"]),
        ("completions", [choice(0, "stop"), b"[DONE]"]),
        ("messages", [{"type": "message_start"}, {"type": "message_stop"}]),
        ("responses", [{"type": "response.completed", "response": {}}]),
    ],
)
def test_what_follows_the_last_word_is_not_passed_on(protocol: str, before: list[Any]) -> None:
    judge = judge_for(protocol, 1, hide_usage=False)
    see(judge, *before)
    assert judge.ended
    late = [choice(), {"type": "message_delta", "delta": {}}, {"error": {"message": "x"}}, b"?"]
    assert see(judge, *late) == [Kind.HIDDEN] * 4


def test_a_mark_before_anything_was_said_ends_nothing() -> None:
    judge = judge_for("chat-completions", 1, hide_usage=True)
    kinds = see(judge, b"[DONE]", choice(), choice(0, "stop"), b"[DONE]", choice())
    assert kinds == [Kind.HIDDEN, Kind.VISIBLE, Kind.VISIBLE, Kind.HIDDEN, Kind.HIDDEN]
