"""Log lines: as text or as JSON, and never with a secret in them.

Nothing that is logged should hold a secret to begin with; cleaning every line once more, tracebacks
included, is the second line of defence.
"""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

from routeradmin.adapters.redaction import Redactor

MOST_CHARS = 20_000  # a long traceback fits; what came from outside was cut before
# Members of ``extra`` that lines show, in this order.
FIELDS = (
    *("request_id", "turn", "route", "deployment", "halt"),
    *("error_class", "attempts", "duration_ms", "overhead_ms", "webhook"),
)

_PATTERNS_ALONE = Redactor(())
_redactor: Callable[[], Redactor] = lambda: _PATTERNS_ALONE  # noqa: E731
_request_id: ContextVar[str] = ContextVar("request_id", default="")
# Of a text line: whoever is quoted in it begins no line of his own and colours no terminal.
_CONTROLS = {code: f"\\u{code:04x}" for code in (*range(32), *range(127, 160), 0x2028, 0x2029)}
_CONTROLS |= {ord("\n"): "\\n", ord("\r"): "\\r", ord("\t"): "\t"}


def clean_with(redactor: Callable[[], Redactor]) -> None:
    """Take the secrets that this knows at the moment of each line out of it."""
    global _redactor
    _redactor = redactor


@contextmanager
def answering(request_id: str) -> Iterator[None]:
    """Lines that are written inside, and name no request themselves, are of this one."""
    token = _request_id.set(request_id)
    try:
        yield
    finally:
        _request_id.reset(token)


def request_id() -> str:
    """Of the request that is being answered here, as ``answering`` was told; else empty."""
    return _request_id.get()


def clean(text: str) -> str:
    return _redactor().text(text, MOST_CHARS)


def fields_of(record: logging.LogRecord) -> dict[str, Any]:
    """What the line was given besides its message; empty ones are left out.

    Ids of the catalog stay as they are, also where a secret is made of the same words; the request
    id alone may come from outside.
    """
    found: dict[str, Any] = {}
    for name in FIELDS:
        value = getattr(record, name, None)
        if name == "request_id" and value is None:
            value = request_id()
        if value not in (None, ""):
            found[name] = clean(value) if name == "request_id" else value
    return found


class TextLines(logging.Formatter):
    """``2026-01-01 00:00:00,000 WARNING name: message [request_id=... route=...]``"""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        record.message = record.getMessage()
        record.asctime = self.formatTime(record)
        line = clean(self.formatMessage(record)).translate(_CONTROLS)
        fields = " ".join(f"{name}={value}" for name, value in fields_of(record).items())
        trace = traceback_of(record)
        return line + (f" [{fields}]" if fields else "") + (f"\n{trace}" if trace else "")


class JsonLines(logging.Formatter):
    """One object a line: time, level, logger, message, process, the fields, exception."""

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC)
        line: dict[str, Any] = {
            "time": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": clean(record.getMessage()),
            "process": record.process,
            **fields_of(record),
        }
        if trace := traceback_of(record):
            line["exception"] = trace
        return json.dumps(line, ensure_ascii=False, default=str)


def traceback_of(record: logging.LogRecord) -> str:
    """Made anew: what another formatter left on the record is not cleaned."""
    if record.exc_info and record.exc_info[0] is not None:
        return clean("".join(traceback.format_exception(*record.exc_info)).rstrip("\n"))
    return clean(record.exc_text) if record.exc_text else ""


def config(form: str, turns: str) -> dict[str, Any]:
    """Django's LOGGING. ``form``: ``text`` or ``json``; ``turns``: which of them have a line,
    ``failed``, ``all`` or ``none``."""
    lines = {"text": TextLines, "json": JsonLines}[form]
    level = {"failed": "WARNING", "all": "INFO", "none": "CRITICAL"}[turns]
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": {"()": lines}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
        "root": {"handlers": ["stderr"], "level": "INFO"},
        "loggers": {
            "django.request": {"level": "ERROR"},
            "routeradmin.turns": {"level": level},
        },
    }
