"""What is sent: a message with its type, its moment and what it is about."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from routeradmin.engine.describe import utc_text

TEST = "test"
FIRING, RESOLVED = "firing", "resolved"
MOST_ITEMS = 50  # of one message; ``count`` says how many there are


@dataclass(frozen=True, slots=True)
class Condition:
    """Something that is wrong: ``subject`` tells it from others of its type."""

    type: str
    subject: str
    facts: Mapping[str, Any]

    @property
    def key(self) -> tuple[str, str]:
        return self.type, self.subject


@dataclass(frozen=True, slots=True)
class Message:
    """The body is signed and sent as it is, in every attempt the same."""

    id: str
    type: str
    body: bytes


def message(
    type: str, state: str, conditions: Sequence[Condition], now: float, process: str
) -> Message:
    """One for all conditions of a type that began, or ended, at the same look."""
    data = {
        "state": state,
        "count": len(conditions),
        "items": [dict(one.facts) for one in conditions[:MOST_ITEMS]],
        "process": process,
    }
    return made(type, data, now)


def made(type: str, data: Mapping[str, Any], now: float) -> Message:
    body = orjson.dumps({"type": type, "timestamp": utc_text(now), "data": data})
    return Message(f"msg_{secrets.token_hex(12)}", type, body)
