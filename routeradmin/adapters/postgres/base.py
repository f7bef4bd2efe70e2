"""A database backend (``ENGINE``) whose connections do not wait for ever.

A server that was stopped, or a machine that hangs, keeps its connections open: TCP's own time
limits never strike, and every thread that asks waits until it is back. Here a connection on which
nothing was heard for ``Patience.limit_s`` while an answer was due is closed, and asking fails as
it does with a server that is gone. A long answer may take its time: only silence counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from functools import partial
from typing import Any

import psycopg
from django.db.backends.postgresql import base

Waiting = Generator[Any, Any, Any]


class Patience:
    """``limit_s``: how long; None for commands, whose statements may take long."""

    limit_s: float | None = None


class DatabaseWrapper(base.DatabaseWrapper):
    def get_new_connection(self, conn_params: Any) -> Any:
        connection = super().get_new_connection(conn_params)
        connection.wait = partial(_wait, connection, connection.wait)
        return connection


def _wait(
    connection: psycopg.Connection[Any], wait: Callable[..., Any], waiting: Waiting, **more: Any
) -> Any:
    limit_s = Patience.limit_s
    if limit_s is None:
        return wait(waiting, **more)
    try:
        return wait(_until_silent(waiting, limit_s), **more)
    except _Silence as silence:
        connection.close()  # what it was to answer must not be taken for the next answer
        raise psycopg.OperationalError(
            f"the database has said nothing for {limit_s:g} s: given up"
        ) from silence


class _Silence(Exception):
    pass


def _until_silent(waiting: Waiting, limit_s: float) -> Waiting:
    """psycopg's own generator: it yields what it waits for and is sent what came, nothing now and
    then. Raises _Silence."""
    heard_at = time.monotonic()
    try:
        wanted = next(waiting)
        while True:
            ready = yield wanted
            if ready:
                heard_at = time.monotonic()
            elif time.monotonic() - heard_at > limit_s:
                raise _Silence
            wanted = waiting.send(ready)
    except StopIteration as over:
        return over.value
