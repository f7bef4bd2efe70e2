"""API keys: created (shown once), changed, revoked, deleted. No revision: no key is catalog."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from routeradmin.access.models import ApiKey, Scope
from routeradmin.catalog.problems import Invalid, Problem
from routeradmin.services import keys, publishing
from routeradmin.services import runtime as runtimes
from routeradmin.services.changes.commit import Actor, Reported, audit, plain
from routeradmin.services.changes.errors import AlreadyExists, NotFound, Stale

LIMITS = ("rpm_limit", "tpm_limit", "max_parallel_requests", "tokens_per_day")
FIELDS = ("name", "scopes", "routes", *LIMITS, "expires_at")
MOST = 2**63 - 1


def create_key(
    fields: Mapping[str, Any], by: Actor, *, token: str | None = None, reason: str = ""
) -> tuple[ApiKey, str]:
    """The key and its text, which is nowhere else and not shown again.

    ``fields``: name, scopes, and optionally routes, limits, expires_at. Raises Invalid.
    """
    values = checked_fields({"routes": None, **fields}, needed=("name", "scopes"))
    token = token or keys.new_token()
    with publishing.writing():
        row = ApiKey(
            uid=f"key_{secrets.token_hex(6)}",
            hash=keys.token_hash(token),
            prefix=token[: keys.SHOWN],
            **values,
        )
        if ApiKey.objects.filter(hash=row.hash).exists():
            raise AlreadyExists("keys", row.prefix)
        row.save()
        _audit("create", row, {name: [None, plain(values[name])] for name in values}, by, reason)
    _in_force()
    return row, token


def update_key(
    uid: str, patch: Mapping[str, Any], by: Actor, *, if_match: int | str, reason: str = ""
) -> ApiKey:
    """Raises NotFound, Stale, Invalid."""
    values = checked_fields(patch)
    with publishing.writing():
        row = _found(uid, if_match)
        changes = {
            name: [plain(getattr(row, name)), plain(value)]
            for name, value in values.items()
            if getattr(row, name) != value
        }
        if changes:
            for name in changes:
                setattr(row, name, values[name])
            _save(row)
            _audit("update", row, changes, by, reason)
    _in_force()
    return row


def revoke_key(uid: str, by: Actor, *, if_match: int | str = "*", reason: str = "") -> ApiKey:
    """It opens nothing from now on; the row stays to be seen. Raises NotFound, Stale."""
    with publishing.writing():
        row = _found(uid, if_match)
        if row.revoked_at is None:
            row.revoked_at = _now()
            _save(row)
            _audit("revoke", row, {"revoked_at": [None, plain(row.revoked_at)]}, by, reason)
    _in_force()
    return row


def delete_key(uid: str, by: Actor, *, if_match: int | str, reason: str = "") -> None:
    """Raises NotFound, Stale."""
    with publishing.writing():
        row = _found(uid, if_match)
        _audit("delete", row, {"name": [row.name, None]}, by, reason)
        row.delete()
    _in_force()


def checked_fields(fields: Mapping[str, Any], needed: tuple[str, ...] = ()) -> dict[str, Any]:
    """Raises Invalid with every problem at once."""
    problems = [Problem(f"/{name}", "is required") for name in needed if not fields.get(name)]
    problems += [
        Problem(f"/{name}", "is not a field of a key: remove it")
        for name in fields
        if name not in FIELDS
    ]
    for name, value in fields.items():
        if name in FIELDS and (detail := _wrong(name, value)):
            problems.append(Problem(f"/{name}", detail))
    if problems:
        raise Invalid(problems)
    return {
        name: list(value) if isinstance(value, tuple | set) else value
        for name, value in fields.items()
    }


def _wrong(name: str, value: Any) -> str:
    """What is wrong with a field's value; empty when nothing is."""
    if name == "name":
        fits = isinstance(value, str) and value.isprintable() and 0 < len(value.encode()) <= 256
        return "" if fits else "must be 1 to 256 bytes of text without control characters"
    if name == "scopes":
        fits = isinstance(value, list | tuple) and bool(value)
        fits = fits and all(one in Scope.values for one in value)
        return "" if fits else f"must list some of {', '.join(Scope.values)}"
    if name == "routes":
        fits = value is None or (
            isinstance(value, list | tuple) and all(isinstance(one, str) for one in value)
        )
        return "" if fits else "must be a list of route ids, or null for all"
    if name in LIMITS:
        fits = value is None or (type(value) is int and 0 <= value <= MOST)
        return "" if fits else "must be a whole number of 0 or more, or null for no limit"
    fits = value is None or (isinstance(value, datetime) and value.tzinfo is not None)
    return "" if fits else "must be a time with its offset from UTC, or null for never"


def _found(uid: str, if_match: int | str) -> ApiKey:
    row = ApiKey.objects.filter(uid=uid).first()
    if row is None:
        raise NotFound("keys", uid)
    if if_match not in ("*", row.version):
        raise Stale("keys", uid, row.version, key_values(row))
    return row


def key_values(row: ApiKey) -> dict[str, Any]:
    """The key's fields as JSON; nothing of its text but the prefix people know it by."""
    shown = ("prefix", "revoked_at", "last_used_at", "created_at")
    return {"id": row.uid} | {name: plain(getattr(row, name)) for name in (*FIELDS, *shown)}


def _save(row: ApiKey) -> None:
    row.version += 1
    row.updated_at = _now()
    row.save()


def _now() -> datetime:
    return publishing.moment(runtimes.get())


def _audit(action: str, row: ApiKey, changes: dict[str, Any], by: Actor, reason: str) -> None:
    audit([Reported(action, "keys", row.uid, changes)], by, _now(), reason)


def _in_force() -> None:
    """Here at once, in other processes as soon as they hear of it."""
    runtime = runtimes.get()
    runtime.keys.load()
    runtime.announce()
