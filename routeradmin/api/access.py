"""Who calls, and what they may: an API key's scopes or a session's role."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.http import HttpRequest
from ninja.utils import check_csrf

from routeradmin.api.problems import Problem, invalid
from routeradmin.services import runtime
from routeradmin.services.changes import Actor

REASON_HEADER = "X-Routeradmin-Reason"
MAX_REASON = 1000

HOW_TO_AUTHENTICATE = (
    "Send an API key as 'Authorization: Bearer <key>' or 'x-api-key', or log in to the console."
)


class Right(StrEnum):
    """What an operation asks for. Keys have scopes of their own names, but ``act`` is ``write``."""

    READ = "read"
    ACT = "act"
    WRITE = "write"
    ADMIN = "admin"

    @property
    def scope(self) -> str:
        return "write" if self is Right.ACT else self.value

    @property
    def role(self) -> str:
        """The least role that has it."""
        return {Right.READ: "viewer", Right.ACT: "operator"}.get(self, "admin")


ROLE_RIGHTS = {
    "viewer": frozenset({Right.READ}),
    "operator": frozenset({Right.READ, Right.ACT}),
    "admin": frozenset(Right),
}


@dataclass(frozen=True, slots=True)
class Caller:
    """Who is answerable: ``name`` and ``kind`` (``user`` or ``key``) go into the audit."""

    kind: str
    name: str
    source: str

    @property
    def actor(self) -> Actor:
        return Actor(f"{self.kind}:{self.name}", self.source)


class Needs:
    """Authentication of one operation: puts the Caller into ``request.auth``, or says no.

    An API key counts before a session. Query parameters that the operation does not know are
    refused here: a mistyped ``dry_run`` must not become a write. Raises Problem 401
    ``invalid_api_key`` or ``not_authenticated``, 403 ``insufficient_scope``,
    ``insufficient_role`` or ``csrf_failed``, 422.
    """

    def __init__(self, right: Right) -> None:
        self.right = right

    def __call__(self, request: HttpRequest) -> Caller:
        token = key_of(request)
        found = self._by_session(request) if token is None else self._by_key(request, token)
        refuse_unknown_parameters(request)
        return found

    def _by_key(self, request: HttpRequest, token: str) -> Caller:
        current = runtime.get()
        key = current.keys.find(token, current.clock())
        if key is None:
            raise unauthenticated(
                "invalid_api_key", "This API key is unknown, revoked or expired; make a new one."
            )
        if self.right.scope not in key.scopes:
            raise Problem(
                403,
                "insufficient_scope",
                f"The key {key.name!r} lacks the scope '{self.right.scope}'; use one that has it.",
            )
        return Caller("key", key.name, address(request))

    def _by_session(self, request: HttpRequest) -> Caller:
        user: Any = request.user
        if not user.is_authenticated:
            raise unauthenticated("not_authenticated", HOW_TO_AUTHENTICATE)
        if request.method not in ("GET", "HEAD", "OPTIONS") and check_csrf(request) is not None:
            raise Problem(
                403,
                "csrf_failed",
                "The session's CSRF token is missing or wrong; send it as X-CSRFToken, or use an "
                "API key.",
            )
        if self.right not in ROLE_RIGHTS.get(user.role, frozenset()):
            raise Problem(
                403,
                "insufficient_role",
                f"This needs the role {self.right.role}; {user.get_username()!r} is {user.role}.",
            )
        return Caller("user", user.get_username(), address(request))


def refuse_unknown_parameters(request: HttpRequest) -> None:
    """``known_parameters`` was put there with the operation (see ``urls``). Raises Problem 422."""
    known: frozenset[str] = getattr(request, "known_parameters", frozenset())
    accepted = f"use {', '.join(sorted(known))}" if known else "this operation takes none"
    unknown = [
        (f"?{name[:64]}", f"is not known here; {accepted}")
        for name in request.GET
        if name not in known
    ]
    if unknown:
        raise invalid("The query was not accepted.", *unknown)


def key_of(request: HttpRequest) -> str | None:
    """The key as the client sent it; None when it sent none."""
    kind, _, token = request.headers.get("Authorization", "").partition(" ")
    if kind.lower() == "bearer":
        return token.strip()
    key = request.headers.get("X-Api-Key")
    return key.strip() if key is not None else None


def unauthenticated(code: str, detail: str) -> Problem:
    return Problem(401, code, detail, headers={"WWW-Authenticate": "Bearer"})


def address(request: HttpRequest) -> str:
    return str(request.META.get("REMOTE_ADDR", ""))


def actor(request: HttpRequest) -> Actor:
    """Who is answerable for the write that the request asks for."""
    return caller(request).actor


def reason(request: HttpRequest) -> str:
    """Why, in the caller's words, for revision and audit. Raises Problem 422."""
    text = request.headers.get(REASON_HEADER, "").strip()
    if len(text) > MAX_REASON or not text.isprintable():
        raise invalid(
            "The request was not accepted.",
            (REASON_HEADER, f"must be at most {MAX_REASON} printable characters"),
        )
    return text


def caller(request: HttpRequest) -> Caller:
    """Who was let in; every operation has one."""
    found = getattr(request, "auth", None)
    if not isinstance(found, Caller):
        raise TypeError("the operation lets in callers without asking who they are")
    return found


reading = Needs(Right.READ)
acting = Needs(Right.ACT)
writing = Needs(Right.WRITE)
administering = Needs(Right.ADMIN)
