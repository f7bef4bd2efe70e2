"""Servers to test: one that the whole session shares, and fresh ones that start fast."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.process.collected import copy
from tests.process.server import ADMIN, KEY, PASSWORD, ROOT, Server

CATALOG = (ROOT / "tests" / "process" / "catalog.toml").read_bytes()
BOOTSTRAP = {
    "ROUTERADMIN_BOOTSTRAP_ADMIN": f"{ADMIN}:{PASSWORD}",
    "ROUTERADMIN_BOOTSTRAP_KEY": KEY,
}

Make = Callable[..., Server]


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with a first start and a catalog behind it."""
    directory = tmp_path_factory.mktemp("prepared") / "data"
    server = Server(directory, env=BOOTSTRAP).start()
    try:
        toml = {"content-type": "application/toml", "if-match": "*"}
        answer = server.call("PUT", "/api/v1/catalog", CATALOG, headers=toml)
        assert answer.status == 200, answer.body
    finally:
        assert server.stop() == 0
    return directory


@pytest.fixture(scope="session")
def shared(prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """For tests that leave nothing behind that another one minds."""
    server = Server(copy(prepared, tmp_path_factory.mktemp("shared") / "data")).start()
    yield server
    assert server.stop() == 0


@pytest.fixture
def server(prepared: Path, tmp_path: Path) -> Iterator[Make]:
    """Makes servers on a copy of the prepared directory; those still running are killed."""
    made: list[Server] = []

    def make(*args: str, **env: str) -> Server:
        directory = tmp_path / "data"
        if not directory.exists():
            copy(prepared, directory)
        made.append(Server(directory, args, env))
        return made[-1]

    yield make
    for one in made:
        one.stop(signal.SIGKILL)
