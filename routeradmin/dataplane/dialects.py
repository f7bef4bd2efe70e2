"""How each protocol says no, and how it ends a stream."""

from __future__ import annotations

from typing import Any

import orjson

from routeradmin.dataplane.errors import ApiError
from routeradmin.services.inference.facts import CHAT, COMPLETIONS, MESSAGES, RESPONSES

ANTHROPIC_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    405: "invalid_request_error",
    413: "request_too_large",
    422: "invalid_request_error",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
    529: "overloaded_error",
}
DONE = b"data: [DONE]\n\n"
TRACE = "routeradmin"  # the member that holds the turn record, where it was asked for


def is_anthropic(path: str) -> bool:
    return path == "/v1/messages" or path.startswith("/v1/messages/")


def error_document(problem: ApiError, *, anthropic: bool) -> dict[str, Any]:
    """The whole error body."""
    if not anthropic:
        return problem.document()
    error = {
        "type": problem.more.get("type") or ANTHROPIC_TYPES.get(problem.status, "api_error"),
        "message": problem.message,
        "code": problem.code,
        **problem.more,
    }
    return {"type": "error", "error": error}


def error_body(problem: ApiError, *, anthropic: bool, trace: Any = None) -> bytes:
    document = error_document(problem, anthropic=anthropic)
    if trace is not None:
        document[TRACE] = trace
    return orjson.dumps(document)


def error_event(problem: ApiError, api: str, trace: Any = None) -> bytes:
    """The error as the last event of a stream that has begun."""
    document = error_document(problem, anthropic=api == MESSAGES)
    if trace is not None:
        document[TRACE] = trace
    if api == MESSAGES:
        return b"event: error\ndata: " + orjson.dumps(document) + b"\n\n"
    if api == RESPONSES:
        # The members are those of the API's error event; clients look for ``error`` too.
        flat = {"type": "error", "code": problem.code, "message": problem.message, "param": None}
        return b"event: error\ndata: " + orjson.dumps({**flat, **document}) + b"\n\n"
    return b"data: " + orjson.dumps(document) + b"\n\n"


def good_end(api: str, last: dict[str, Any] | None, trace: Any = None) -> bytes:
    """What ends a stream after success: the last frame if it was held back, the mark if any."""
    end = b""
    if last is not None:
        document = last if trace is None else {**last, TRACE: trace}
        name = str(last.get("type", "")).encode()
        end = b"event: " + name + b"\ndata: " + orjson.dumps(document) + b"\n\n"
    elif trace is not None and api in (CHAT, COMPLETIONS):
        kind = "chat.completion.chunk" if api == CHAT else "text_completion"
        chunk = {"id": trace["id"], "object": kind, "created": 0, "model": trace["model"]}
        end = b"data: " + orjson.dumps({**chunk, "choices": [], TRACE: trace}) + b"\n\n"
    return end + DONE if api in (CHAT, COMPLETIONS) else end
