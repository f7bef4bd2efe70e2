"""From what an upstream did to the facts that the engine classifies. Messages come out redacted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import orjson

from routeradmin.adapters import json_text
from routeradmin.adapters.upstream import UNREADABLE, UpstreamFailure
from routeradmin.engine.outcome import AttemptFacts, Ending

Redact = Callable[[str], str]

SEARCHED_CHARS = 20_000
KEPT_CHARS = 500
_UNDONE = frozenset({"", "identity", "gzip", "deflate"})
# What a whole answer of each protocol must hold; the model list is checked for being JSON alone.
_PROOF = {
    "chat-completions": "choices",
    "completions": "choices",
    "embeddings": "data",
    "responses": "output",
    "messages": "content",
}


def of_failure(failure: UpstreamFailure) -> AttemptFacts:
    """The facts of a call that brought no whole answer."""
    endings = {
        "not-sent": Ending.NOT_CONNECTED,
        "unknown": Ending.UNANSWERED,
        "accepted": Ending.BROKEN,
    }
    return AttemptFacts(ending=endings[failure.dispatch], message=failure.message)


def of_answer(
    status: int, headers: Mapping[str, str], body: bytes, protocol: str | None, redact: Redact
) -> AttemptFacts:
    """The facts of a whole answer; ``protocol`` None asks only for JSON (a model list)."""
    document = as_json(body)
    if not 200 <= status < 300:
        return _faulty(Ending.ANSWERED, status, headers, document, body, redact)
    if isinstance(document, dict) and error_in(document):
        return _faulty(Ending.ERROR_INSIDE, status, headers, document, body, redact)
    if document is None or not is_whole(document, protocol):
        return AttemptFacts(
            Ending.MALFORMED,
            status,
            headers,
            message=redact(wrong_with(document, protocol, headers)),
        )
    return AttemptFacts(Ending.SUCCESS, status, headers)


def error_in(document: Mapping[str, Any]) -> bool:
    """Whether an answer or a stream's frame is an error object."""
    return bool(document.get("error")) or document.get("type") == "error"


def is_whole(document: Any, protocol: str | None) -> bool:
    if protocol is None:
        return True
    proof = document.get(_PROOF[protocol]) if isinstance(document, dict) else None
    # An empty content list is a legal Anthropic answer; no choices are none of OpenAI's.
    return isinstance(proof, list) and (bool(proof) or protocol in ("messages", "responses"))


def is_unreadable(headers: Mapping[str, str]) -> bool:
    """Whether the body is compressed in a way that was neither asked for nor undone."""
    return headers.get("content-encoding", "").strip().lower() not in _UNDONE


def wrong_with(document: Any, protocol: str | None, headers: Mapping[str, str]) -> str:
    if document is None and is_unreadable(headers):
        return UNREADABLE
    if document is None:
        return "the upstream answered 200 with something that is not JSON"
    return f"the upstream answered 200 without any {_PROOF.get(protocol or '', 'content')}"


def as_json(body: bytes) -> Any:
    """The body as JSON, None if it is none."""
    try:
        return json_text.loads(body)
    except orjson.JSONDecodeError:
        return None


def message_of(document: Any, text: str) -> str:
    """The upstream's own words: its error's message if it has one, else its text."""
    if isinstance(document, dict):
        error = document.get("error")
        if isinstance(error, dict) and isinstance(error.get("message"), str):
            return str(error["message"])
        for name in ("error", "message", "detail"):
            if isinstance(document.get(name), str):
                return str(document[name])
    return text


def _faulty(
    ending: Ending,
    status: int,
    headers: Mapping[str, str],
    document: Any,
    body: bytes,
    redact: Redact,
) -> AttemptFacts:
    text = body[:SEARCHED_CHARS].decode("utf-8", "replace")
    message = redact(message_of(document, text).strip())[:KEPT_CHARS]
    return AttemptFacts(ending, status, headers, document, text, message)
