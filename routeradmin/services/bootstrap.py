"""Before the first request: a migrated database, the first admin and the first key."""

from __future__ import annotations

import logging
import secrets

from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from routeradmin.access.models import ApiKey, Role, Scope, User
from routeradmin.services import keys, publishing
from routeradmin.services import runtime as runtimes
from routeradmin.services.changes import users
from routeradmin.services.changes.commit import Actor, Reported, audit
from routeradmin.services.changes.keys import create_key

log = logging.getLogger(__name__)

BY = Actor("bootstrap", "environment")
KEY_NAME = "bootstrap"


MIGRATION_LOCK = 0x6D696772  # PostgreSQL's advisory lock of whoever migrates


class NotMigrated(Exception):
    """The database is older than the program."""


def migrate() -> None:
    """Bring the database up to date; of several that start at once, one does and the others wait.

    Raises DatabaseError.
    """
    if connection.vendor != "postgresql":
        call_command("migrate", interactive=False, verbosity=0)
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [MIGRATION_LOCK])
        try:
            call_command("migrate", interactive=False, verbosity=0)
        finally:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [MIGRATION_LOCK])


def require_migrated() -> None:
    """Raises NotMigrated."""
    executor = MigrationExecutor(connection)
    waiting = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if waiting:
        raise NotMigrated(
            f"{len(waiting)} migrations wait: run manage.py migrate first, or start with "
            "manage.py serve, which does it"
        )


def from_environment() -> None:
    """What ROUTERADMIN_BOOTSTRAP_ADMIN and _KEY ask for, where it is not there yet.

    Someone who exists keeps role and password.
    """
    if settings.BOOTSTRAP_ADMIN is not None:
        name, password = settings.BOOTSTRAP_ADMIN
        with publishing.writing():
            if not users.is_taken(users.normalized(name)):
                _make_admin(name, password)
                _warn_of(name, password)
    if settings.BOOTSTRAP_KEY:
        _make_key(settings.BOOTSTRAP_KEY)


def first_admin() -> tuple[str, str] | None:
    """Name and password of an admin made because there was nobody, to be shown this once.

    None when somebody is there, the environment says who is, or people come to other processes:
    those may have been told of the first one's name.
    """
    from_environment()
    if runtimes.get().plane == "data":
        return None
    with publishing.writing():
        if User.objects.exists():
            return None
        password = secrets.token_urlsafe(12)
        _make_admin("admin", password)
    return "admin", password


def _make_admin(name: str, password: str) -> None:
    user = User.objects.create_user(name, password=password, role=Role.ADMIN)
    now = publishing.moment(runtimes.get())
    audit([Reported("create", "users", user.username, {"role": [None, user.role]})], BY, now, "")


def _warn_of(name: str, password: str) -> None:
    """A weak password is no reason not to start: an automation that works today goes on."""
    for text in users.weaknesses(password, User(username=users.normalized(name))):
        log.warning("the password in ROUTERADMIN_BOOTSTRAP_ADMIN should be replaced: %s", text)


def _make_key(token: str) -> None:
    with publishing.writing():  # processes that start at once look one after the other
        if not ApiKey.objects.filter(hash=keys.token_hash(token)).exists():
            create_key({"name": KEY_NAME, "scopes": list(Scope.values)}, BY, token=token)
