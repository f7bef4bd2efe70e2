"""Database connections of threads that outlive requests."""

from __future__ import annotations

from django.db import connection


def freshen() -> None:
    """Drop this thread's connection if it broke; keep it, however old, if it did not.

    A long-lived thread has no request whose end would do this.
    """
    if connection.connection is None or connection.in_atomic_block:
        return
    connection.close_at = None
    connection.close_if_unusable_or_obsolete()
