"""Error bodies by status, in the dialect of the path that was called."""

from __future__ import annotations

from routeradmin.adapters.simulated.ask import Ask, Json, event

# status -> (OpenAI type, OpenAI code, Anthropic type, text)
KNOWN: dict[int, tuple[str, str | None, str, str]] = {
    400: ("invalid_request_error", None, "invalid_request_error", "The request cannot be read"),
    401: (
        "invalid_request_error",
        "invalid_api_key",
        "authentication_error",
        "Incorrect API key provided",
    ),
    402: ("insufficient_quota", "insufficient_quota", "billing_error", "You have no credit left"),
    403: ("invalid_request_error", "forbidden", "permission_error", "This key may not do that"),
    404: ("invalid_request_error", "model_not_found", "not_found_error", "The model is not here"),
    405: ("invalid_request_error", None, "invalid_request_error", "Use another method here"),
    408: ("server_error", "timeout", "timeout_error", "The request took too long"),
    413: ("invalid_request_error", None, "request_too_large", "The request is too large"),
    429: ("requests", "rate_limit_exceeded", "rate_limit_error", "Rate limit reached"),
    503: ("server_error", "overloaded", "overloaded_error", "The engine is overloaded"),
    529: ("server_error", "overloaded", "overloaded_error", "Overloaded"),
}
OTHER = {4: KNOWN[400], 5: ("server_error", None, "api_error", "The server had an error")}


def is_anthropic(kind: str) -> bool:
    return kind in ("messages", "count_tokens")


def body(kind: str, status: int, said: Json | None = None) -> Json:
    """An error body; ``said`` (message, type, code, param) goes over what the status suggests."""
    openai_type, code, anthropic_type, text = KNOWN.get(status) or OTHER.get(
        status // 100, OTHER[5]
    )
    given = said or {}
    if is_anthropic(kind):
        error = {"type": anthropic_type, "message": text, **given}
        return {"type": "error", "error": error, "request_id": None}
    return {"error": {"message": text, "type": openai_type, "param": None, "code": code, **given}}


def frame(ask: Ask, said: Json, sequence_number: int) -> bytes:
    """The event by which a stream that began with 200 says that it failed."""
    whole = body(ask.kind, 500, said)
    if is_anthropic(ask.kind):
        return event({"type": "error", "error": whole["error"]}, "error")
    if ask.kind == "responses":
        fields = {"type": "error", "sequence_number": sequence_number}
        return event({**whole["error"], **fields}, "error")
    return event(whole)
