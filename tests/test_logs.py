"""Log lines: both forms, their fields, and secrets that never get through."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from routeradmin import logs
from routeradmin.adapters.redaction import Redactor
from routeradmin.services import turn_log

SECRET = "canary-4Kq8Zp2Xw9Lm"


@pytest.fixture(autouse=True)
def _knows_the_secret() -> Iterator[None]:
    before = logs._redactor
    logs.clean_with(lambda: Redactor([SECRET]))
    yield
    logs.clean_with(before)


def line(message: str, *args: Any, failing: bool = False, **extra: Any) -> logging.LogRecord:
    exc_info = None
    if failing:
        try:
            raise ValueError(f"upstream said {SECRET}")
        except ValueError:
            exc_info = sys.exc_info()
    record = logging.LogRecord("routeradmin.x", 30, "x.py", 1, message, args, exc_info)
    record.__dict__.update(extra)
    return record


def as_json(record: logging.LogRecord) -> dict[str, Any]:
    text = logs.JsonLines().format(record)
    assert "\n" not in text
    found: dict[str, Any] = json.loads(text)
    return found


def test_a_line_is_of_the_request_that_is_being_answered_unless_it_says_otherwise() -> None:
    with logs.answering("r9"):
        assert as_json(line("x"))["request_id"] == "r9"
        assert as_json(line("x", request_id="r1"))["request_id"] == "r1"
    assert "request_id" not in as_json(line("x"))


def test_nothing_that_is_quoted_begins_a_line_of_its_own() -> None:
    quoted = "GET /a\n2026-01-01 ERROR x\r\x1b[31m\u2028 failed"
    text = logs.TextLines().format(line("%s", quoted))
    assert text.splitlines() == [text]
    assert "\x1b" not in text
    assert text.endswith(r"GET /a\n2026-01-01 ERROR x\r\u001b[31m\u2028 failed")
    assert as_json(line("%s", quoted))["message"] == quoted


def test_a_json_line_holds_what_it_was_given() -> None:
    record = line(
        "turn %s", "ended", request_id="r1", route="chat", deployment="a", halt="deadline"
    )
    found = as_json(record)
    assert found.pop("time").endswith("Z")
    assert found.pop("process")
    assert found == {
        "level": "warning",
        "logger": "routeradmin.x",
        "message": "turn ended",
        "request_id": "r1",
        "route": "chat",
        "deployment": "a",
        "halt": "deadline",
    }


def test_a_text_line_ends_with_its_fields() -> None:
    text = logs.TextLines().format(line("turn ended", request_id="r1", halt="deadline", route=""))
    assert text.endswith("WARNING routeradmin.x: turn ended [request_id=r1 halt=deadline]")


@pytest.mark.parametrize("formatter", [logs.TextLines(), logs.JsonLines()])
def test_no_form_lets_a_secret_through(formatter: logging.Formatter) -> None:
    records = [
        line("key %s refused", SECRET),
        line(SECRET, request_id=SECRET),
        line("failed", failing=True),
        line("Authorization: Bearer abcdef0123456789"),
    ]
    text = "\n".join(formatter.format(record) for record in records)
    assert SECRET not in text
    assert SECRET[3:12] not in text
    assert "abcdef0123456789" not in text
    assert "ValueError" in text


@pytest.mark.parametrize(
    ("turns", "halts"),
    [
        ("failed", ["exhausted"]),
        ("all", ["exhausted", "succeeded"]),
        ("none", []),
    ],
)
def test_the_setting_says_which_turns_have_a_line(
    turns: str, halts: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    level = logs.config("json", turns)["loggers"]["routeradmin.turns"]["level"]
    record = {"id": "t", "request_id": "r", "route": "chat", "duration_ms": 5, "overhead_ms": 1}
    attempt = {"deployment": "a", "class": "transient"}
    with caplog.at_level(level, "routeradmin.turns"):
        for halt in ("exhausted", "succeeded"):
            turn_log.tell({**record, "halt": halt, "attempts": [attempt]})
    assert [found.getMessage() for found in caplog.records] == [
        f"turn ended: {halt} after 1 attempt" for halt in halts
    ]
    assert [found.halt for found in caplog.records] == halts  # type: ignore[attr-defined]
    assert all(logs.fields_of(found)["deployment"] == "a" for found in caplog.records)


def test_an_id_of_the_catalog_stays_even_if_a_secret_has_the_same_words() -> None:
    found = as_json(line("x", deployment="canary-4Kq8-large"))
    assert found["deployment"] == "canary-4Kq8-large"


def test_a_traceback_that_another_formatter_left_is_cleaned_too() -> None:
    record = line("failed", failing=True)
    logging.Formatter().format(record)
    assert SECRET in (record.exc_text or "")
    for formatter in (logs.TextLines(), logs.JsonLines()):
        assert SECRET not in formatter.format(record)
