"""Which conversation a request belongs to, by the first identifier that it carries.

The order is that of CLIProxyAPI, after our own header. ``execution metadata`` and derived ids of
that program have no counterpart in a request and are left out.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import orjson

from routeradmin.adapters import header_lines
from routeradmin.services.affinity import Session, first_of
from routeradmin.services.inference.asked import Asked

OWN_HEADER = "x-routeradmin-session"
OPENING_CHARS = 100
SESSION_MARK = "_session_"
MOST_CHARS = 1024

_HEADERS = frozenset(
    {
        OWN_HEADER.encode(),
        b"x-claude-code-session-id",
        b"session-id",
        b"session_id",
        b"x-session-id",
        b"x-session-affinity",
        b"x-client-request-id",
    }
)


def session_of(asked: Asked) -> Session | None:
    """The request's session; without any identifier, what it began with stands for it."""
    body = asked.document
    headers = header_lines.combined(asked.headers, _HEADERS)
    given = body.get("metadata")
    metadata: dict[str, Any] = given if isinstance(given, dict) else {}
    found = first_of(
        (
            (OWN_HEADER, headers.get(OWN_HEADER)),
            ("x-claude-code-session-id", headers.get("x-claude-code-session-id")),
            ("metadata.user_id session", _session_part(metadata.get("user_id"))),
            ("session-id", headers.get("session-id") or headers.get("session_id")),
            ("x-session-id", headers.get("x-session-id")),
            ("x-session-affinity", headers.get("x-session-affinity")),
            ("x-client-request-id", headers.get("x-client-request-id")),
            ("session_id", body.get("session_id") or body.get("sessionId")),
            ("prompt_cache_key", body.get("prompt_cache_key")),
            ("conversation", _id(body.get("conversation"))),
            ("metadata.user_id", metadata.get("user_id")),
            ("conversation_id", body.get("conversation_id")),
        )
    )
    if found is None:
        return _by_opening(body)
    return found._replace(names=tuple(name[:MOST_CHARS] for name in found.names))


def _session_part(user_id: Any) -> str | None:
    """Claude Code writes ``user_..._session_<id>``, or JSON with a ``session_id``."""
    if not isinstance(user_id, str):
        return None
    if user_id.startswith("{"):
        try:
            told = orjson.loads(user_id)
        except orjson.JSONDecodeError:
            return None
        value = told.get("session_id") if isinstance(told, dict) else None
        return value if isinstance(value, str) else None
    _, mark, session = user_id.rpartition(SESSION_MARK)
    return session if mark else None


def _id(conversation: Any) -> Any:
    return conversation.get("id") if isinstance(conversation, dict) else conversation


def _by_opening(body: dict[str, Any]) -> Session | None:
    """A digest of how it began: with the first answer once there is one, and before that without,
    so that the second request of a conversation finds the first one's binding."""
    turns = body.get("messages", body.get("input"))
    if isinstance(turns, str):
        turns = [{"role": "user", "content": turns}]
    if not isinstance(turns, list):
        return None
    system = _opening(body.get("system", body.get("instructions"))) or _first(turns, "system")
    user, assistant = _first(turns, "user"), _first(turns, "assistant")
    if not user:
        return None
    short = _digest(system, user)
    names = (_digest(system, user, assistant), short) if assistant else (short,)
    return Session(names, "opening")


def _first(turns: list[Any], role: str) -> str:
    for turn in turns:
        if isinstance(turn, dict) and turn.get("role") == role:
            return _opening(turn.get("content"))
    return ""


def _opening(content: Any) -> str:
    if isinstance(content, list):
        parts = (part.get("text") for part in content if isinstance(part, dict))
        content = "".join(part for part in parts if isinstance(part, str))
    return content[:OPENING_CHARS] if isinstance(content, str) else ""


def _digest(*parts: str) -> str:
    text = orjson.dumps(parts, default=str)
    return blake2b(text, digest_size=16).hexdigest()
