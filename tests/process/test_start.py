"""From the command to the first page, and the starts that are refused."""

from __future__ import annotations

import re
import socket
from pathlib import Path

import pytest

from tests.databases import ON_POSTGRES, ON_SQLITE
from tests.process.collected import bring_static_files
from tests.process.conftest import Make
from tests.process.server import Server, manage


def test_a_first_start_prints_the_address_and_an_admin_once_and_serves_the_login_page(
    tmp_path: Path,
) -> None:
    server = Server(tmp_path / "fresh").start()
    away = server.call("GET", "/", key=None)
    page = server.call("GET", away.headers["location"], key=None)
    assert page.status == 200
    styles = re.findall(rb'href="(/static/[^"]+\.css)"', page.body)
    assert styles
    assert server.call("GET", styles[0].decode(), key=None).status == 200
    assert server.call("GET", "/readyz", key=None).json()["status"] == "ready"
    assert server.call("GET", "/api/v1/state", key="rk_not_a_key_at_all_000000").status == 401
    assert server.stop() == 0
    assert re.fullmatch(
        r"first admin: admin {2}password: \S{16} {2}\(shown only now\)", server.printed[1]
    )
    assert len(server.printed) == 2
    assert server.log.read_text() == ""
    for name in ("secret.key", "encryption.keys"):
        assert (server.directory / name).stat().st_mode & 0o077 == 0
    assert (server.directory / "routeradmin.sqlite3").exists() is not ON_POSTGRES

    again = Server(server.directory).start()
    assert again.stop() == 0
    assert len(again.printed) == 1


def test_the_embedded_database_is_its_owners_alone_and_one_whole_file_after_the_end(
    tmp_path: Path,
) -> None:
    server = Server(bring_static_files(tmp_path / "data"), env=ON_SQLITE).start()
    assert server.stop() == 0
    file = server.directory / "routeradmin.sqlite3"
    assert file.stat().st_mode & 0o077 == 0
    log = file.with_name(f"{file.name}-wal")
    assert not log.exists() or log.stat().st_size == 0  # a copy of the file is whole


def test_a_second_server_on_the_same_data_directory_is_refused(server: Make) -> None:
    first = server().start()
    assert first.process is not None
    second = manage(first.directory, "serve", "--port", "0")
    assert second.returncode == 1
    assert second.stdout == ""
    assert second.stderr.count("\n") == 1
    assert f"process {first.process.pid} already serves from" in second.stderr
    assert "ROUTERADMIN_DATA_DIR" in second.stderr
    assert first.call("GET", "/readyz").status == 200


def test_a_taken_port_is_refused_in_one_line(prepared: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        refused = manage(prepared, "serve", "--port", port)
    assert refused.returncode == 1
    assert refused.stderr.count("\n") == 1
    assert f"cannot listen on 127.0.0.1 port {port}" in refused.stderr


@pytest.mark.parametrize(
    ("name", "value", "accepts"),
    [
        ("ROUTERADMIN_HTTPS_ONLY", "perhaps", "0, 1"),
        ("ROUTERADMIN_ALLOW_PRIVATE_UPSTREAMS", "all", "none, loopback, private"),
        ("ROUTERADMIN_ALLOWED_HOSTS", "good.example,http://bad.example", "without scheme"),
        ("ROUTERADMIN_TRUSTED_PROXIES", "10.0.0.0/99", "CIDR"),
        ("ROUTERADMIN_ENCRYPTION_KEYS", "tooshort-and-secret", "Fernet"),
        ("ROUTERADMIN_BOOTSTRAP_ADMIN", "name-without-password", "name:password"),
        ("ROUTERADMIN_BOOTSTRAP_KEY", "short", "20 or more"),
        ("DATABASE_URL", "mysql://nobody@nowhere/none", "postgres"),
        ("DATABASE_URL", "postgres://user:pw@host:port/name", "postgres"),
        ("REDIS_URL", "http://127.0.0.1", "redis"),
        ("ROUTERADMIN_DATA_DIR", "/dev/null/here", "directory"),
        ("ROUTERADMIN_SECRET_KEY_FILE", "/nonexistent/secret", "readable"),
    ],
    ids=lambda value: value if value.isupper() else "",
)
def test_a_bad_environment_value_stops_the_start_with_one_line(
    tmp_path: Path, name: str, value: str, accepts: str
) -> None:
    refused = manage(tmp_path / "data", "serve", **{name: value})
    assert refused.returncode == 1
    assert refused.stdout == ""
    assert refused.stderr.count("\n") == 1, refused.stderr
    assert refused.stderr.startswith(f"{name}: ")
    assert accepts in refused.stderr
    assert value not in refused.stderr
