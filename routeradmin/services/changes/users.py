"""People: created, given a role, switched off, deleted. There is always an admin left."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.password_validation import validate_password
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.exceptions import ValidationError

from routeradmin.access.models import Role, User
from routeradmin.catalog.problems import Invalid, Problem
from routeradmin.services import publishing
from routeradmin.services import runtime as runtimes
from routeradmin.services.changes.commit import Actor, Reported, audit
from routeradmin.services.changes.errors import AlreadyExists, NotFound, Stale

FIELDS = ("username", "role", "is_active", "password")


def create_user(fields: Mapping[str, Any], by: Actor, reason: str = "") -> User:
    """``fields``: username, password, and optionally role and is_active. Raises Invalid,
    AlreadyExists."""
    name = normalized(fields.get("username"))
    fields = {**fields, "username": name} if name else fields
    checked_fields(fields, User(username=name), needed=("username", "password"))
    with publishing.writing():
        if is_taken(name):
            raise AlreadyExists("users", name)
        user = User(
            username=name,
            role=fields.get("role", Role.VIEWER),
            is_active=fields.get("is_active", True),
        )
        user.set_password(fields["password"])
        user.save()
        _audit("create", user, {"role": [None, user.role]}, by, reason)
    return user


def update_user(
    name: str, patch: Mapping[str, Any], by: Actor, *, if_match: int | str, reason: str = ""
) -> User:
    """Role, is_active or password; a new password ends the user's sessions. Raises NotFound,
    Stale, Invalid."""
    checked_fields(patch, User.objects.filter(username=name).first() or User(username=name))
    if name not in (patch.get("username", name), normalized(patch.get("username"))):
        raise Invalid([Problem("/username", "cannot be changed: create a new user")])
    with publishing.writing():
        user = _found(name, if_match)
        changes: dict[str, Any] = {
            field: [getattr(user, field), patch[field]]
            for field in ("role", "is_active")
            if field in patch and getattr(user, field) != patch[field]
        }
        for field, (_, value) in changes.items():
            setattr(user, field, value)
        if "password" in patch:
            user.set_password(patch["password"])
            changes["password"] = ["kept secret", "replaced"]
        if changes:
            _save(user)
            _require_an_admin()
            _audit("update", user, changes, by, reason)
    return user


def delete_user(name: str, by: Actor, *, if_match: int | str, reason: str = "") -> None:
    """Raises NotFound, Stale, Invalid when it is the last admin."""
    with publishing.writing():
        user = _found(name, if_match)
        _audit("delete", user, {"role": [user.role, None]}, by, reason)
        user.delete()
        _require_an_admin()


def user_values(user: User) -> dict[str, Any]:
    return {
        "id": user.username,
        "username": user.username,
        "role": user.role,
        "is_active": user.is_active,
    }


def normalized(name: Any) -> str:
    """A name as it is stored and as the sign-in page reads it (NFKC), so that whoever has it can
    sign in with it; empty for what is no text."""
    return User.normalize_username(name) if isinstance(name, str) else ""


def is_taken(name: str) -> bool:
    """Also by a name that differs in case alone, in whatever script: databases differ in that."""
    folded = name.casefold()
    names = User.objects.values_list("username", flat=True)
    return any(normalized(other).casefold() == folded for other in names)


def weaknesses(password: str, user: User) -> list[str]:
    """What is wrong with a password for this user, whose name is not to be a part of it."""
    try:
        validate_password(password, user)
    except ValidationError as problem:
        return list(problem.messages)
    return []


def checked_fields(fields: Mapping[str, Any], user: User, needed: tuple[str, ...] = ()) -> None:
    """``user``: whose fields they are, saved or not. Raises Invalid with every problem at once."""
    problems = [Problem(f"/{name}", "is required") for name in needed if not fields.get(name)]
    for name, value in fields.items():
        problems += [Problem(f"/{name}", detail) for detail in _wrong(name, value, user)]
    if problems:
        raise Invalid(problems)


def _wrong(name: str, value: Any, user: User) -> list[str]:
    if name == "role":
        fits = value in Role.values
        return [] if fits else [f"must be one of {', '.join(Role.values)}"]
    if name == "is_active":
        return [] if isinstance(value, bool) else ["must be true or false"]
    if name not in FIELDS:
        return ["is not a field of a user: remove it"]
    if not isinstance(value, str) or not value.isprintable():
        return ["must be text without control characters"]
    if name == "password":
        return weaknesses(value, user)
    try:
        UnicodeUsernameValidator()(value)
    except ValidationError as problem:
        return list(problem.messages)
    return ["must be at most 150 characters long"] if len(value) > 150 else []


def _found(name: str, if_match: int | str) -> User:
    user = User.objects.filter(username=name).first()
    if user is None:
        raise NotFound("users", name)
    if if_match not in ("*", user.version):
        raise Stale("users", name, user.version, user_values(user))
    return user


def _require_an_admin() -> None:
    """Inside the transaction: raising takes the change back."""
    if not User.objects.filter(role=Role.ADMIN, is_active=True).exists():
        raise Invalid([Problem("/role", "the last active admin stays: make another one first")])


def _save(user: User) -> None:
    user.version += 1
    user.updated_at = publishing.moment(runtimes.get())
    user.save()


def _audit(action: str, user: User, changes: dict[str, Any], by: Actor, reason: str) -> None:
    now = publishing.moment(runtimes.get())
    audit([Reported(action, "users", user.username, changes)], by, now, reason)
