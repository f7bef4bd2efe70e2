"""The right to watch: taken from a session or an API key, and taken back when it is gone.

All open sockets of a process are looked after together: one look every few seconds, two queries
whatever their number.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from asgiref.sync import sync_to_async
from django.contrib.sessions.models import Session
from django.db import close_old_connections
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from routeradmin.access.models import User
from routeradmin.adapters import header_lines
from routeradmin.services import runtime
from routeradmin.services.keys import Key

LOOK_INTERVAL_S = 2.0
DEFAULT_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}


@dataclass(frozen=True, slots=True)
class Ticket:
    """A session's (its key, the user, the hash a password change alters) or an API key's text."""

    session: str = ""
    user_id: int = 0
    auth_hash: str = field(default="", repr=False)
    api_key: str = field(default="", repr=False)

    @property
    def known(self) -> bool:
        """Whether the holder, once refused, lacks a right rather than a sign-in."""
        return bool(self.api_key)


@dataclass(frozen=True, slots=True)
class Refusal:
    known: bool


def _headers(scope: Mapping[str, Any]) -> dict[str, str]:
    return header_lines.combined(scope["headers"])


def same_origin(origin: str, host: str, secure: bool) -> bool:
    """A browser's page may connect to the host that it came from, and to no other."""
    there, here = urlsplit(origin), urlsplit(f"{'https' if secure else 'http'}://{host}")
    try:
        ports = [part.port or DEFAULT_PORTS.get(part.scheme) for part in (there, here)]
    except ValueError:
        return False
    return bool(there.hostname) and there.hostname == here.hostname and ports[0] == ports[1]


def _presented_key(headers: Mapping[str, str]) -> str:
    kind, _, value = headers.get("authorization", "").partition(" ")
    return value.strip() if kind.lower() == "bearer" else headers.get("x-api-key", "").strip()


async def of(scope: Mapping[str, Any]) -> Ticket | Refusal:
    """The ticket of a handshake, or why there is none."""
    headers = _headers(scope)
    key = _presented_key(headers)
    if key:
        return Ticket(api_key=key) if _key_may_read(key) else Refusal(known=_key_known(key))
    origin = headers.get("origin")
    secure = (urlsplit(origin).scheme == "https") if origin else False
    if origin is not None and not same_origin(origin, headers.get("host", ""), secure):
        return Refusal(known=True)
    user = scope.get("user")
    if user is None or not user.is_authenticated:
        return Refusal(known=False)
    session = scope["session"].session_key or ""
    return Ticket(session, user.pk, user.get_session_auth_hash())


def _found(key: str) -> Key | None:
    current = runtime.get()
    return current.keys.find(key, current.clock())


def _key_known(key: str) -> bool:
    return _found(key) is not None


def _key_may_read(key: str) -> bool:
    found = _found(key)
    return found is not None and "read" in found.scopes


@dataclass(eq=False, slots=True)
class _Holder:
    ticket: Ticket
    lose: Callable[[], None]


_holders: set[_Holder] = set()
_looking: asyncio.Task[None] | None = None


@contextmanager
def watch(ticket: Ticket, lose: Callable[[], None]) -> Iterator[None]:
    """Calls ``lose`` within seconds of the ticket becoming void, while the context lasts."""
    global _looking
    holder = _Holder(ticket, lose)
    _holders.add(holder)
    if _looking is None or _looking.done() or _looking.get_loop() is not asyncio.get_running_loop():
        _looking = asyncio.get_running_loop().create_task(_look_after())
    try:
        yield
    finally:
        _holders.discard(holder)


async def _look_after() -> None:
    while _holders:
        await look()
        await asyncio.sleep(LOOK_INTERVAL_S)


async def look() -> None:
    """Tell every holder whose ticket is void."""
    holders = list(_holders)
    valid = await sync_to_async(_valid)({holder.ticket for holder in holders})
    for holder in holders:
        if holder.ticket not in valid:
            holder.lose()


def _valid(tickets: Iterable[Ticket]) -> set[Ticket]:
    close_old_connections()  # outside a request nobody else looks whether one has died
    by_session = [ticket for ticket in tickets if not ticket.api_key]
    sessions = set(
        Session.objects.filter(
            session_key__in=[ticket.session for ticket in by_session],
            expire_date__gt=timezone.now(),
        ).values_list("session_key", flat=True)
    )
    users = User.objects.in_bulk({ticket.user_id for ticket in by_session})
    return {
        ticket
        for ticket in tickets
        if (
            _key_may_read(ticket.api_key) if ticket.api_key else _signed_in(ticket, sessions, users)
        )
    }


def _signed_in(ticket: Ticket, sessions: set[str], users: Mapping[int, User]) -> bool:
    user = users.get(ticket.user_id)
    return (
        ticket.session in sessions
        and user is not None
        and user.is_active
        and constant_time_compare(user.get_session_auth_hash(), ticket.auth_hash)
    )
