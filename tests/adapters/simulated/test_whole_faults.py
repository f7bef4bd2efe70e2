"""Faults of answers that come in one piece, as a raw client sees them."""

from __future__ import annotations

import gzip
from base64 import b64encode
from typing import Any

import pytest

from tests.adapters.simulated.raw import Raw


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, None),
        (401, "invalid_api_key"),
        (402, "insufficient_quota"),
        (404, "model_not_found"),
        (429, "rate_limit_exceeded"),
        (500, None),
        (503, "overloaded"),
    ],
)
def test_a_status_brings_the_error_body_that_belongs_to_it(
    raw: Raw, status: int, code: str | None
) -> None:
    raw.script({"status": status})

    answer = raw.chat()

    assert answer.status == status
    assert answer.json["error"]["code"] == code
    assert answer.json["error"]["message"]


def test_a_stream_that_fails_with_a_status_gets_a_plain_error(raw: Raw) -> None:
    raw.script({"status": 503})

    answer = raw.chat(stream=True)

    assert answer.headers["content-type"] == "application/json"
    assert answer.json["error"]["code"] == "overloaded"


def test_an_error_can_say_its_own_words(raw: Raw) -> None:
    raw.script({"status": 400, "error": {"code": "context_length_exceeded", "message": "Too long"}})

    error = raw.chat().json["error"]

    assert (error["code"], error["message"]) == ("context_length_exceeded", "Too long")
    assert error["type"] == "invalid_request_error"


def test_any_header_can_be_set_repeated_or_left_out(raw: Raw) -> None:
    headers: dict[str, Any] = {"Retry-After": "20", "x-ratelimit-reset-requests": "6m0s"}
    raw.script({"status": 429, "headers": {**headers, "content-type": None, "x-a": ["1", "2"]}})

    with raw.line() as line:
        line.send("POST", "/v1/chat/completions", b'{"model": "m"}', {})
        head = line.read_until(b"\r\n\r\n")

    assert b"retry-after: 20\r\n" in head
    assert b"x-ratelimit-reset-requests: 6m0s\r\n" in head
    assert b"x-a: 1\r\nx-a: 2\r\n" in head
    assert b"content-type" not in head


def test_a_redirect_is_a_status_and_a_header(raw: Raw) -> None:
    raw.script({"status": 302, "headers": {"location": "http://127.0.0.1:9/"}})

    answer = raw.chat()

    assert (answer.status, answer.headers["location"]) == (302, "http://127.0.0.1:9/")


@pytest.mark.parametrize(
    ("body", "content_type", "expected"),
    [
        ({"a": [1]}, "application/json", b'{"a":[1]}'),
        ([], "application/json", b"[]"),
        (None, "application/json", b"null"),
        ("not {json", "text/plain; charset=utf-8", b"not {json"),
        ("", "text/plain; charset=utf-8", b""),
        (
            {"base64": b64encode(b"\x00\xff").decode()},
            "text/plain; charset=utf-8",
            b"\x00\xff",
        ),
    ],
)
def test_a_body_is_json_text_or_bytes(
    raw: Raw, body: Any, content_type: str, expected: bytes
) -> None:
    raw.script({"body": body})

    answer = raw.chat(stream=True)

    assert (answer.status, answer.body) == (200, expected)
    assert answer.headers["content-type"] == content_type


def test_html_comes_with_200(raw: Raw) -> None:
    raw.script({"html": True}, {"html": "<p>Busy</p>", "status": 502})

    first, second = raw.chat(stream=True), raw.chat()

    assert first.headers["content-type"].startswith("text/html")
    assert (first.status, first.body[:15]) == (200, b"<!doctype html>")
    assert (second.status, second.body) == (502, b"<p>Busy</p>")


def test_cut_json_is_delivered_whole_as_http_and_broken_as_json(raw: Raw) -> None:
    raw.script({"cut_json": True})

    answer = raw.chat()

    assert answer.ended == "complete"
    with pytest.raises(ValueError, match=r"Unterminated|Expecting"):
        _ = answer.json


def test_an_error_object_comes_with_200(raw: Raw) -> None:
    raw.script({"error_in_200": True}, {"error_in_200": {"code": "rate_limit_exceeded"}})

    first, second = raw.chat(), raw.chat()

    assert (first.status, list(first.json)) == (200, ["error"])
    assert second.json["error"]["code"] == "rate_limit_exceeded"


@pytest.mark.parametrize(
    ("path", "member"),
    [
        ("/v1/chat/completions", "choices"),
        ("/v1/messages", "content"),
        ("/v1/responses", "output"),
        ("/v1/embeddings", "data"),
    ],
)
def test_an_answer_can_hold_nothing(raw: Raw, path: str, member: str) -> None:
    raw.script({"empty_choices": True})

    answer = raw.call("POST", path, {"model": "m", "input": "x"})

    assert answer.json[member] == []


def test_text_can_hold_bytes_that_are_not_utf_8(raw: Raw) -> None:
    raw.script({"invalid_utf8": True})

    for more in ({}, {"stream": True}):
        answer = raw.chat(**more)

        assert b"\xff\xfe" in answer.body
        with pytest.raises(UnicodeDecodeError):
            answer.body.decode()


def test_gzip_shrinks_the_body_and_says_so(raw: Raw) -> None:
    raw.script({"gzip": True, "text": "again " * 50})

    answer = raw.chat()

    assert answer.headers["content-encoding"] == "gzip"
    assert b"again again" in gzip.decompress(answer.body)


def test_the_answer_can_be_written_word_by_word_or_by_length(raw: Raw) -> None:
    raw.script({"text": "one two"}, {"words": 5}, {"finish_reason": "content_filter"})

    said, long, filtered = raw.chat().json, raw.chat().json, raw.chat().json

    assert said["choices"][0]["message"]["content"] == "one two"
    assert long["usage"]["completion_tokens"] == 5
    assert filtered["choices"][0]["finish_reason"] == "content_filter"


def test_a_model_can_ignore_that_a_tool_was_forced(raw: Raw) -> None:
    tools = [{"type": "function", "function": {"name": "f", "parameters": {}}}]
    raw.script({"tool_calls": False})

    choice = raw.chat(tools=tools, tool_choice="required").json["choices"][0]

    assert choice["finish_reason"] == "stop"
    assert choice["message"]["content"]
    assert "tool_calls" not in choice["message"]


def test_usage_can_be_changed_or_left_out(raw: Raw) -> None:
    raw.script({"usage": {"prompt_tokens": 1000}}, {"usage": None})

    changed, missing = raw.chat().json, raw.chat().json

    assert changed["usage"]["prompt_tokens"] == 1000
    assert "usage" not in missing


def test_the_caller_s_secret_can_be_quoted_back(raw: Raw) -> None:
    raw.script({"status": 401, "error": {"message": "Incorrect API key: {{secret}}"}})

    answer = raw.chat(key="sk-quoted-back-0001")

    assert answer.json["error"]["message"] == "Incorrect API key: sk-quoted-back-0001"


def test_errors_of_messages_have_the_anthropic_shape(raw: Raw) -> None:
    raw.script({"status": 529})

    answer = raw.call("POST", "/v1/messages", {"model": "m"})

    assert answer.json["type"] == "error"
    assert answer.json["error"]["type"] == "overloaded_error"
    assert "request-id" in answer.headers


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/v1/nowhere", {"model": "m"}, 404),
        ("GET", "/v1/chat/completions", None, 405),
        ("POST", "/v1/chat/completions", {}, 400),
        ("POST", "/v1/chat/completions", [1], 400),
        (
            "POST",
            "/v1/chat/completions",
            {"model": "m", "tools": 3, "tool_choice": "required"},
            400,
        ),
    ],
)
def test_a_request_that_makes_no_sense_is_refused(
    raw: Raw, method: str, path: str, body: Any, status: int
) -> None:
    answer = raw.call(method, path, body)

    assert answer.status == status
    assert answer.json["error"]["message"]
