"""PostgreSQL databases of tests' own."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit, urlunsplit

import psycopg

from tests import needs


@contextmanager
def database() -> Iterator[str]:
    """The URL of a database that is there for as long as the block."""
    url = create(needs.DATABASE_URL)
    try:
        yield url
    finally:
        drop(needs.DATABASE_URL, url)


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
