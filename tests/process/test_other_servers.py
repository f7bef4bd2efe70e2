"""The same application under uvicorn's and daphne's own commands."""

from __future__ import annotations

import signal
import socket
from pathlib import Path

import pytest

from tests import databases
from tests.process.collected import copy
from tests.process.server import Server, until


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def under(name: str, directory: Path) -> Server:
    port = free_port()
    options = {"uvicorn": ("--port",), "daphne": ("-b", "127.0.0.1", "-p")}[name]
    command = ("-m", name, "routeradmin.asgi:application", *options, str(port))
    server = Server(directory, command=command, address=("127.0.0.1", port))
    server.spawn()
    return server


def answers(server: Server) -> bool:
    assert server.process is not None
    assert server.process.poll() is None, server.log.read_text()
    try:
        return server.call("GET", "/readyz").status == 200
    except OSError:
        return False


@pytest.mark.parametrize("name", ["uvicorn", "daphne"])
def test_the_application_works_under_another_server(
    name: str, prepared: Path, tmp_path: Path
) -> None:
    directory = copy(prepared, tmp_path / "data")
    server = under(name, directory)
    try:
        until(lambda: answers(server), 20)
        assert server.call("GET", "/accounts/login/", key=None).status in (200, 404)
        lease = server.post("/api/v1/select", {"model": "chat"})
        facts = {"outcome": "failure", "status": 429, "retry_after": "600"}
        server.post(f"/api/v1/leases/{lease['lease_id']}/report", facts)
    finally:
        server.stop(signal.SIGTERM)
    assert "Traceback" not in server.log.read_text()

    asked = "SELECT deployment FROM journal_event WHERE kind = 'cooldown-set'"
    assert databases.ask(directory, asked) == [(lease["deployment"],)]  # written before the end


def test_a_database_that_was_never_migrated_is_refused_in_one_line(tmp_path: Path) -> None:
    directory = tmp_path / "data"
    server = under("uvicorn", directory)
    assert server.process is not None
    server.process.wait(20)
    assert server.stop() != 0
    log = server.log.read_text()
    assert "run manage.py migrate first" in log
    assert "Traceback" not in log
