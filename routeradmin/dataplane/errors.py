"""Errors of the decision and inference paths, in the shape OpenAI clients know."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
from pydantic import ValidationError

from routeradmin.engine.refusal import whole_seconds

TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "invalid_request_error",
    405: "invalid_request_error",
    409: "conflict_error",
    413: "invalid_request_error",
    422: "invalid_request_error",
    429: "rate_limit_error",
}


class ApiError(Exception):
    """An answer that says no: HTTP status, string code, and a message that says what to do.

    ``retry_after_s`` becomes Retry-After in whole seconds, rounded up, never 0. ``should_retry``
    False marks a permanent failure for the vendors' SDKs. ``more`` are further members of
    ``error``.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        param: str | None = None,
        retry_after_s: float | None = None,
        should_retry: bool | None = None,
        more: Mapping[str, Any] | None = None,
        headers: tuple[tuple[bytes, bytes], ...] = (),
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.param = param
        self.retry_after_s = retry_after_s
        self.should_retry = should_retry
        self.more = dict(more or {})
        self.extra_headers = headers

    @property
    def type(self) -> str:
        return TYPES.get(self.status, "server_error")

    def body(self) -> bytes:
        return orjson.dumps(self.document())

    def document(self) -> dict[str, Any]:
        error = {
            "message": self.message,
            "type": self.type,
            "param": self.param,
            "code": self.code,
            **self.more,
        }
        return {"error": error}

    def headers(self) -> list[tuple[bytes, bytes]]:
        headers = list(self.extra_headers)
        if self.retry_after_s is not None:
            headers.append((b"retry-after", str(whole_seconds(self.retry_after_s)).encode()))
        if self.should_retry is not None:
            headers.append((b"x-should-retry", b"true" if self.should_retry else b"false"))
        return headers


def invalid_request(problem: ValidationError, status: int = 422) -> ApiError:
    """Every problem of a body in one message; values are not echoed."""
    found = problem.errors(include_url=False, include_context=False, include_input=False)
    places = [".".join(str(part) for part in item["loc"]) or "(body)" for item in found]
    text = "; ".join(
        f"{place}: {item['msg'][:1].lower()}{item['msg'][1:]}"
        for place, item in zip(places[:20], found, strict=False)
    )
    return ApiError(
        status, "invalid_request", f"The request was not accepted: {text}.", param=places[0]
    )
