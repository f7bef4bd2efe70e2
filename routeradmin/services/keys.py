"""API keys: hashed in the database, whole in memory, so that a request never asks the database."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from threading import Lock

from django.db.models import Count, Max

from routeradmin.access.models import ApiKey
from routeradmin.engine.key_use import Allowance

PREFIX = "rk_"
HASHES_KEPT = 1024
SHOWN = 7  # characters kept to recognise a key by: fewer than the eight that would give it away


@dataclass(frozen=True, slots=True)
class Key:
    """What a request may do. ``routes`` None: all. ``expires_at`` in epoch seconds."""

    uid: str
    name: str
    scopes: frozenset[str]
    routes: frozenset[str] | None = None
    rpm_limit: int | None = None
    tpm_limit: int | None = None
    max_parallel_requests: int | None = None
    tokens_per_day: int | None = None
    expires_at: float | None = None
    allowance: Allowance | None = field(init=False)  # None without any limit

    def __post_init__(self) -> None:
        allowance = Allowance(
            self.uid,
            self.max_parallel_requests,
            self.rpm_limit,
            self.tpm_limit,
            self.tokens_per_day,
        )
        object.__setattr__(self, "allowance", allowance if allowance.is_limited else None)

    def may_use(self, route_id: str) -> bool:
        return self.routes is None or route_id in self.routes


def new_token() -> str:
    """A key's text: 256 random bits, which is why a plain hash of it is enough."""
    return PREFIX + secrets.token_urlsafe(32)


def token_hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


class KeyRing:
    """The usable keys by hash. ``load`` replaces all of them; a revoked key is out at once.
    ``on_gone`` gets the ids of keys that are no more."""

    def __init__(self) -> None:
        self.on_gone: Callable[[Sequence[str]], None] = lambda uids: None
        self._by_hash: dict[str, Key] = {}
        self._hashes: dict[str, str] = {}  # of tokens that were good
        self._used: dict[str, float] = {}
        self._loaded: tuple[int, datetime | None] = (0, None)
        self._loading = Lock()

    def __repr__(self) -> str:
        return f"KeyRing({len(self._by_hash)} keys)"

    def find(self, token: str, now: float) -> Key | None:
        """The key of this token, unless unknown, revoked or expired; its use is noted.

        Tokens are found by their whole SHA-256, so timing tells nothing about a stored one.
        """
        known = self._hashes.get(token)  # a hash costs more than all else that is looked at here
        hashed = token_hash(token) if known is None else known
        key = self._by_hash.get(hashed)
        if key is None or (key.expires_at is not None and key.expires_at <= now):
            return None
        if known is None:
            self._remember(token, hashed)
        self._used[key.uid] = now
        return key

    def _remember(self, token: str, hashed: str) -> None:
        if len(self._hashes) >= HASHES_KEPT:
            self._hashes.clear()
        self._hashes[token] = hashed

    def load(self) -> None:
        # One at a time: a slower thread would put back what it read before a key was revoked.
        with self._loading:
            self._loaded = _mark()
            rows = ApiKey.objects.filter(revoked_at__isnull=True)
            self.hold({row.hash: key_of(row) for row in rows})

    def hold(self, by_hash: Mapping[str, Key]) -> None:
        """Replace all keys at once; they are found by their token's hash."""
        before, self._by_hash = self._by_hash, dict(by_hash)
        self._hashes.clear()  # a revoked key's token is not kept
        gone = {key.uid for key in before.values()} - {key.uid for key in by_hash.values()}
        if gone:
            self.on_gone(sorted(gone))

    def catch_up(self) -> None:
        """Load what another process changed; one query when nothing did."""
        if _mark() != self._loaded:
            self.load()

    def take_used(self) -> dict[str, float]:
        """When each key was last used since the last call, by id."""
        used, self._used = self._used, {}
        return used


def _mark() -> tuple[int, datetime | None]:
    """Moves with every key made, changed or deleted, by whichever process."""
    found = ApiKey.objects.aggregate(count=Count("pk"), latest=Max("updated_at"))
    return found["count"], found["latest"]


def key_of(row: ApiKey) -> Key:
    return Key(
        uid=row.uid,
        name=row.name,
        scopes=frozenset(row.scopes),
        routes=None if row.routes is None else frozenset(row.routes),
        rpm_limit=row.rpm_limit,
        tpm_limit=row.tpm_limit,
        max_parallel_requests=row.max_parallel_requests,
        tokens_per_day=row.tokens_per_day,
        expires_at=row.expires_at.timestamp() if row.expires_at else None,
    )


def write_used(ring: KeyRing) -> None:
    """Write down when keys were last used; a later time already there stays."""
    for uid, at in ring.take_used().items():
        moment = datetime.fromtimestamp(at, UTC)
        unused = ApiKey.objects.filter(uid=uid, last_used_at__isnull=True)
        earlier = ApiKey.objects.filter(uid=uid, last_used_at__lt=moment)
        (unused | earlier).update(last_used_at=moment)
