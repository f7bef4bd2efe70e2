"""PostgreSQL databases of tests' own.

Where the suite itself runs on PostgreSQL (its ``DATABASE_URL`` says so), every data directory that
a test serves from has one behind it, as it has a file of SQLite's where it does not.
"""

from __future__ import annotations

import atexit
import os
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg

from tests import needs

SUITE = os.environ.get("DATABASE_URL", "")
ON_POSTGRES = SUITE.startswith("postgres")

# The environment of a process that a test wants on SQLite, whatever the suite runs on.
ON_SQLITE = {"DATABASE_URL": ""}

_behind: dict[Path, str] = {}


@contextmanager
def database() -> Iterator[str]:
    """The URL of a database that is there for as long as the block."""
    url = create(needs.DATABASE_URL)
    try:
        yield url
    finally:
        drop(needs.DATABASE_URL, url)


def behind(directory: Path) -> dict[str, str]:
    """What a process that serves from it is told: nothing where the suite is on SQLite. A
    directory that is new has an empty database."""
    if not ON_POSTGRES:
        return {}
    if directory not in _behind:
        _behind[directory] = create(SUITE)
    return {"DATABASE_URL": _behind[directory]}


def copy(source: Path, directory: Path) -> None:
    """``directory``, which is new, has what the one behind ``source`` has; nobody may use that."""
    if ON_POSTGRES:
        _behind[directory] = create(SUITE, like=name_of(_behind[source]))


@atexit.register
def drop_all() -> None:
    """Those behind directories."""
    while _behind:
        drop(SUITE, _behind.popitem()[1])


def ask(directory: Path, statement: str) -> list[tuple[Any, ...]]:
    """Past the server: the rows that the directory's database answers with."""
    with closing(_opened(directory)) as connection:
        cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else []


def _opened(directory: Path) -> Any:
    if ON_POSTGRES:
        return psycopg.connect(_behind[directory], autocommit=True)
    path = directory / "routeradmin.sqlite3"
    return sqlite3.connect(path, timeout=10, isolation_level=None)


def create(server: str, like: str = "template1") -> str:
    """Its URL; ``server`` is that of any database beside it."""
    name = f"routeradmin_test_{secrets.token_hex(6)}"
    _tell(server, f'CREATE DATABASE "{name}" TEMPLATE "{like}"')
    return urlunsplit(urlsplit(server)._replace(path=f"/{name}"))


def drop(server: str, url: str) -> None:
    """Whoever is connected to it."""
    _tell(server, f'DROP DATABASE "{name_of(url)}" WITH (FORCE)')


def name_of(url: str) -> str:
    return urlsplit(url).path.removeprefix("/")


def _tell(server: str, statement: str) -> None:
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(statement.encode())
