"""Error bodies, in both directions."""

from __future__ import annotations

from typing import Any

from routeradmin.adapters.translate.words import Json

_TYPE_OF_STATUS = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    422: "invalid_request_error",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_NO_TEXT = "the upstream gave no message"


def error_to_chat(body: Any) -> Json:
    """A messages error body as a chat-completions one; the dialect's type serves as code too."""
    error = _error(body)
    kind = str(error.get("type") or "api_error")
    text = str(error.get("message") or _NO_TEXT)
    return {"error": {"message": text, "type": kind, "param": None, "code": kind}}


def error_to_messages(status: int, body: Any) -> Json:
    """A chat-completions error body as a messages one; the type follows the status."""
    error = _error(body)
    kind = _TYPE_OF_STATUS.get(status, "api_error")
    text = str(error.get("message") or _NO_TEXT)
    return {"type": "error", "error": {"type": kind, "message": text}}


def _error(body: Any) -> Json:
    """The error object; some upstreams write a bare string instead."""
    error = body.get("error") if isinstance(body, dict) else None
    if isinstance(error, dict):
        return error
    return {"message": error} if isinstance(error, str) else {}
