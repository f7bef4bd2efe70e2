"""What the management API answers when it says no: RFC 9457 problem documents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import orjson
from django.http import HttpResponse
from pydantic import BaseModel, Field

MEDIA_TYPE = "application/problem+json"
TYPE_PREFIX = "urn:routeradmin:problem:"
TITLES = {
    400: "Bad request",
    401: "Not authenticated",
    403: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    409: "Conflict",
    412: "Changed meanwhile",
    413: "Too large",
    415: "Unsupported media type",
    422: "Not valid",
    428: "Precondition required",
    500: "Internal error",
    503: "Not available",
}


class Place(BaseModel):
    """One finding: a JSON pointer into the body (or ``?name`` for a query parameter)."""

    pointer: str
    detail: str


class ProblemDocument(BaseModel):
    """RFC 9457. ``code`` is the stable word for programs, ``detail`` says what to do."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    errors: list[Place] = Field(default_factory=list)


class Problem(Exception):
    """An answer that says no. ``more`` are further members of the document."""

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        *,
        errors: Iterable[tuple[str, str]] = (),
        headers: Mapping[str, str] | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.errors = tuple(errors)
        self.headers = dict(headers or {})
        self.more = dict(more or {})

    def response(self) -> HttpResponse:
        content = {
            "type": TYPE_PREFIX + self.code,
            "title": TITLES.get(self.status, "Problem"),
            "status": self.status,
            "detail": self.detail,
            "code": self.code,
            "errors": [{"pointer": place, "detail": detail} for place, detail in self.errors],
            **self.more,
        }
        return HttpResponse(
            orjson.dumps(content), status=self.status, content_type=MEDIA_TYPE, headers=self.headers
        )


def pointer(parts: Iterable[str | int]) -> str:
    """The JSON pointer (RFC 6901) to these keys and indexes."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def not_found(noun: str, object_id: str) -> Problem:
    return Problem(
        404, "not_found", f"There is no {noun} {object_id!r}; GET the list to see those there are."
    )


def invalid(detail: str, *errors: tuple[str, str]) -> Problem:
    """422 ``invalid_request`` with its places."""
    return Problem(422, "invalid_request", detail, errors=errors)
