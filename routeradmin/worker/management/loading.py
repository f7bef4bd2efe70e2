"""What a command that changes the catalog starts with."""

from __future__ import annotations

from django.core.management.base import CommandError
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from routeradmin.services import publishing
from routeradmin.services import runtime as runtimes
from routeradmin.services.changes import Actor
from routeradmin.services.runtime import Runtime

BY = Actor("command", "manage.py")


def require_tables() -> None:
    """Raises CommandError on a database that lacks migrations, instead of failing half-way."""
    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        raise CommandError("the database is not up to date: run 'manage.py migrate' first")


def loaded() -> Runtime:
    """The runtime of this short-lived process, with the stored catalog in it.

    A server on the same database takes over what the command publishes within a second.
    """
    require_tables()
    runtime = runtimes.get()
    publishing.load(runtime)
    return runtime
