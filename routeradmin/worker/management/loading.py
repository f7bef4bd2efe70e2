"""What a command that changes the catalog starts with."""

from __future__ import annotations

from routeradmin.services import publishing
from routeradmin.services import runtime as runtimes
from routeradmin.services.changes import Actor
from routeradmin.services.runtime import Runtime

BY = Actor("command", "manage.py")


def loaded() -> Runtime:
    """The runtime of this short-lived process, with the stored catalog in it.

    A server on the same database takes over what the command publishes within a second.
    """
    runtime = runtimes.get()
    publishing.load(runtime)
    return runtime
