"""A PostgreSQL that hangs with its connections open: asking it fails, in time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dj_database_url
import pytest
from django.db import OperationalError

from routeradmin.adapters.postgres.base import DatabaseWrapper, Patience
from tests.process.server import until
from tests.scaleout.conftest import CATALOG
from tests.scaleout.postgres import PostgresServer
from tests.scaleout.servers import RedisServer
from tests.scaleout.system import System, environment_of

pytestmark = [pytest.mark.services, pytest.mark.slow]

LONGEST_S = 60.0  # what waits for a stopped server waits for ever


@pytest.fixture(scope="module")
def database() -> Iterator[PostgresServer]:
    server = PostgresServer()
    server.start()
    yield server
    server.close()


@pytest.fixture
def connection(database: PostgresServer, django_db_blocker: Any) -> Iterator[DatabaseWrapper]:
    options = {"ATOMIC_REQUESTS": False, "AUTOCOMMIT": True, "TIME_ZONE": None, "OPTIONS": {}}
    before, Patience.limit_s = Patience.limit_s, 3.0
    connection = DatabaseWrapper({**dj_database_url.parse(database.url), **options}, "silent")
    with django_db_blocker.unblock():  # it is a database of its own
        yield connection
        connection.close()
    Patience.limit_s = before


def test_a_server_that_says_nothing_is_given_up_and_asked_anew_once_it_is_back(
    database: PostgresServer, connection: DatabaseWrapper
) -> None:
    ask(connection)
    database.freeze()
    try:
        started = time.monotonic()
        with pytest.raises(OperationalError, match="said nothing"):
            ask(connection)
        assert time.monotonic() - started < LONGEST_S
    finally:
        database.thaw()
    connection.close_if_unusable_or_obsolete()
    ask(connection)


def test_an_answer_that_takes_long_but_comes_bit_by_bit_is_waited_for(
    connection: DatabaseWrapper,
) -> None:
    with connection.cursor() as cursor:
        # Rows so large that the server sends each at once.
        cursor.execute("SELECT repeat('x', 20000), pg_sleep(0.5) FROM generate_series(1, 8)")
        assert len(cursor.fetchall()) == 8


def ask(connection: DatabaseWrapper) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        assert cursor.fetchone() == (1,)


def test_an_edit_is_refused_in_words_and_selects_go_on_while_it_hangs(
    database: PostgresServer, own_redis: RedisServer, tmp_path: Path
) -> None:
    system = System(tmp_path / "data", environment_of(database.url, own_redis.url))
    try:
        server = system.serve()
        system.put_catalog(server, CATALOG)
        database.freeze()
        edit = ("PATCH", "/api/v1/deployments/a", {"weight": 7})
        refused = server.call(*edit, headers={"if-match": "*"}, timeout=LONGEST_S)
        assert (refused.status, b"database" in refused.body) == (503, True)
        assert server.call("POST", "/api/v1/select", {"model": "turns"}).status == 200
        until(lambda: "database" in server.get("/readyz")["degraded"], 20)
        database.thaw()
        assert server.get("/api/v1/deployments/a")["weight"] == 1
        assert server.call(*edit, headers={"if-match": "*"}).status == 200
    finally:
        database.thaw()
        system.close()
