"""Log lines: as text or as JSON, and never with a secret in them.

Nothing that is logged should hold a secret to begin with; cleaning every line once more, tracebacks
included, is the second line of defence.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
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


def clean_with(redactor: Callable[[], Redactor]) -> None:
    """Take the secrets that this knows at the moment of each line out of it."""
    global _redactor
    _redactor = redactor


def clean(text: str) -> str:
    return _redactor().text(text, MOST_CHARS)


def fields_of(record: logging.LogRecord) -> dict[str, Any]:
    """What the line was given besides its message; empty ones are left out."""
    given = ((name, getattr(record, name, None)) for name in FIELDS)
    return {name: value for name, value in given if value not in (None, "")}


class TextLines(logging.Formatter):
    """``2026-01-01 00:00:00,000 WARNING name: message [request_id=... route=...]``"""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:
        line = super().formatMessage(record)
        fields = " ".join(f"{name}={value}" for name, value in fields_of(record).items())
        return f"{line} [{fields}]" if fields else line

    def format(self, record: logging.LogRecord) -> str:
        return clean(super().format(record))


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
        }
        for name, value in fields_of(record).items():
            line[name] = clean(value) if isinstance(value, str) else value
        if record.exc_info:
            line["exception"] = clean(self.formatException(record.exc_info))
        elif record.exc_text:
            line["exception"] = clean(record.exc_text)
        return json.dumps(line, ensure_ascii=False, default=str)


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
