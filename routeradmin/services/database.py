"""Database connections of threads that outlive requests."""

from __future__ import annotations

from django.db import connection

from routeradmin.adapters.postgres.base import Patience

SILENCE_S = 10.0  # for which a database may say nothing before it counts as gone


def be_impatient() -> None:
    """From here on this process serves: nobody is to wait for a database that hangs."""
    Patience.limit_s = SILENCE_S


def freshen() -> None:
    """Drop this thread's connection if it broke; keep it, however old, if it did not.

    A long-lived thread has no request whose end would do this.
    """
    if connection.connection is None or connection.in_atomic_block:
        return
    connection.close_at = None
    connection.close_if_unusable_or_obsolete()
