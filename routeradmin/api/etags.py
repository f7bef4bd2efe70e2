"""Strong ETags and the conditions that clients set on them (RFC 9110, section 13)."""

from __future__ import annotations

import hashlib
import re

from django.http import HttpRequest

from routeradmin.api.problems import Problem
from routeradmin.services.changes import ANY

TAG = re.compile(r'(W/)?"([\x21\x23-\x7e\x80-\xff]*)"')


def digest(content: bytes) -> str:
    """The strong ETag of an answer's bytes, quotes included."""
    return f'"{hashlib.blake2b(content, digest_size=16).hexdigest()}"'


def strong_tags(header: str) -> set[str]:
    """The strong tags of a condition's list, quotes included; weak ones never match strongly."""
    return {f'"{found[2]}"' for found in TAG.finditer(header) if not found[1]}


def all_tags(header: str) -> set[str]:
    return {f'"{found[2]}"' for found in TAG.finditer(header)}


def require_match(request: HttpRequest, etag: str) -> None:
    """Refuses a write whose ``If-Match`` does not name the object as it is.

    Raises Problem 428 ``if_match_required`` without the header, 412 ``stale`` with another tag.
    """
    if "If-Match" not in request.headers:
        raise missing_if_match()
    check_match(request, etag)


def based_on(request: HttpRequest, etag: str, version: int) -> int | str:
    """The version that the request's If-Match vouches for, or ``*``.

    Raises Problem 428 and 412.
    """
    require_match(request, etag)
    return ANY if matches_any(request) else version


def matches_any(request: HttpRequest) -> bool:
    return request.headers.get("If-Match", "").strip() == "*"


def check_match(request: HttpRequest, etag: str) -> None:
    """The same where the header is optional."""
    header = request.headers.get("If-Match")
    if header is None or matches_any(request) or etag in strong_tags(header):
        return
    raise stale(etag)


def optionally_based_on(request: HttpRequest, etag: str, version: int) -> int | str:
    """``based_on`` where the header may be left out: any version then. Raises Problem 412."""
    check_match(request, etag)
    return version if "If-Match" in request.headers and not matches_any(request) else ANY


def missing_if_match() -> Problem:
    return Problem(
        428,
        "if_match_required",
        "Send If-Match with the ETag of the object as you read it, so that nobody's change is "
        "lost; '*' changes it whatever it holds now.",
    )


def stale(etag: str | None) -> Problem:
    return Problem(
        412,
        "stale",
        "The object was changed since it was read; GET it again, apply your change to what it "
        "holds now and send its new ETag in If-Match.",
        headers={"ETag": etag} if etag else None,
    )


def unchanged(request: HttpRequest, etag: str) -> bool:
    """Whether ``If-None-Match`` names what would be answered: 304 is enough."""
    header = request.headers.get("If-None-Match", "")
    return header.strip() == "*" or etag in all_tags(header)
