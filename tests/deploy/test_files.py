"""The files for deployment, held against what they deploy, by parsers where no engine runs."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography.fernet import Fernet
from django.core.management import get_commands, load_command_class

from routeradmin.dataplane.app import EXACT, LEASES

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = {name: one for name, one in SERVICES.items() if one["image"] == "routeradmin"}
CADDYFILE = (DEPLOY / "Caddyfile").read_text()
UNIT = (DEPLOY / "routeradmin.service").read_text()
DOCKERFILE = (DEPLOY / "Dockerfile").read_text()

SERVICE_KEYS = {
    *("build", "cap_drop", "command", "depends_on", "environment", "healthcheck", "image"),
    *("networks", "ports", "read_only", "restart", "secrets", "security_opt"),
    *("stop_grace_period", "tmpfs", "user", "volumes"),
}


def test_the_compose_file_has_the_parts_of_the_topology() -> None:
    planes = [one["command"][2] for one in OURS.values() if one["command"][0] == "serve"]
    assert sorted(planes) == ["control", "data", "data"]
    assert {one["command"][0] for one in OURS.values()} == {"serve", "routerworker", "migrate"}
    assert {"postgres", "valkey", "caddy"} <= SERVICES.keys()


def test_compose_names_only_what_it_defines_and_knows() -> None:
    assert set(COMPOSE) - {"name", "services", "networks", "volumes", "secrets"} == {
        "x-app",
        "x-data",
    }
    for name, service in SERVICES.items():
        assert set(service) <= SERVICE_KEYS, name
        assert set(service.get("secrets", ())) <= COMPOSE["secrets"].keys(), name
        assert set(service.get("networks", ())) <= COMPOSE["networks"].keys(), name
        assert set(service.get("depends_on", ())) <= SERVICES.keys(), name
        for volume in service.get("volumes", ()):
            source = volume.split(":")[0]
            assert source in COMPOSE["volumes"] or (DEPLOY / source).exists(), volume
        given = service.get("environment", {})
        files = [value for key, value in given.items() if key.endswith("_FILE")]
        mounted = {f"/run/secrets/{secret}" for secret in service.get("secrets", ())}
        assert set(files) <= mounted, name
    used = {secret for one in SERVICES.values() for secret in one.get("secrets", ())}
    assert used == COMPOSE["secrets"].keys()


def test_whoever_waits_for_health_waits_for_something_that_tells_it() -> None:
    for service in SERVICES.values():
        waits = service.get("depends_on", {})
        if isinstance(waits, dict):
            for name, condition in waits.items():
                if condition["condition"] == "service_healthy":
                    assert SERVICES[name]["healthcheck"]["test"]


def test_the_database_is_healthy_once_others_reach_it() -> None:
    test = SERVICES["postgres"]["healthcheck"]["test"]
    assert test[test.index("--host") + 1] == "127.0.0.1"
    assert SERVICES["migrate"]["restart"] == "no"


def test_the_proxy_has_the_time_that_it_gives_open_requests() -> None:
    (given,) = re.findall(r"grace_period (\d+)s", CADDYFILE)
    assert int(SERVICES["caddy"]["stop_grace_period"].removesuffix("s")) > int(given)


@pytest.mark.parametrize("name", sorted(OURS))
def test_our_containers_may_write_nothing_and_are_nobody(name: str) -> None:
    service = OURS[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["user"] == "10001:10001"
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert "ports" not in service


@pytest.mark.parametrize("name", sorted(OURS))
def test_every_command_takes_its_arguments(name: str) -> None:
    command, *arguments = OURS[name]["command"]
    parser = load_command_class(get_commands()[command], command).create_parser(
        "manage.py", command
    )
    parser.parse_args(arguments)


def test_the_proxy_is_trusted_by_the_addresses_it_has() -> None:
    (network,) = COMPOSE["networks"]["front"]["ipam"]["config"]
    assert OURS["data-1"]["environment"]["ROUTERADMIN_TRUSTED_PROXIES"] == network["subnet"]
    assert COMPOSE["networks"]["back"]["internal"] is True
    assert SERVICES["caddy"]["networks"] == ["front"]


def test_secrets_are_made_usable_and_only_once(tmp_path: Path) -> None:
    script = tmp_path / "make-secrets"
    shutil.copy(DEPLOY / "make-secrets", script)
    subprocess.run([script], check=True)
    made = {path.name: path.read_text() for path in (tmp_path / "secrets").iterdir()}
    assert made.keys() == COMPOSE["secrets"].keys()
    Fernet(made["encryption_keys"].strip())
    assert made["postgres_password"].strip() in made["database_url"]
    assert made["first_admin"].startswith("admin:")
    assert len(set(made.values())) == len(made)
    assert stat.S_IMODE(os.stat(tmp_path / "secrets").st_mode) == 0o700
    subprocess.run([script], check=True)
    assert {path.name: path.read_text() for path in (tmp_path / "secrets").iterdir()} == made


def test_the_proxy_sends_the_data_planes_paths_to_the_data_plane() -> None:
    line = next(one for one in CADDYFILE.splitlines() if one.strip().startswith("@data path"))
    patterns = [re.compile(re.escape(word).replace(r"\*", ".*") + "$") for word in line.split()[2:]]
    paths = {path for path in EXACT if path != "/metrics" and not path.startswith("/health/")}
    for path in (*paths, f"{LEASES}x/report", "/v1/models/a/b", "/ws/select"):
        assert any(pattern.match(path) for pattern in patterns), path
    for path in ("/", "/login", "/api/v1/providers", "/api/v1/state", "/ws/console", "/metrics"):
        assert not any(pattern.match(path) for pattern in patterns), path
    assert re.search(r"handle /metrics \{\s+respond 404\s+\}", CADDYFILE)


def test_the_proxy_knows_our_processes_and_lets_hung_up_streams_end() -> None:
    assert CADDYFILE.count("reverse_proxy ") == 2
    assert "flush_interval" not in re.sub(r"#.*", "", CADDYFILE)  # -1 keeps them running
    assert set(re.findall(r"([a-z0-9-]+):8000", CADDYFILE)) <= OURS.keys()


@pytest.mark.proxy
def test_caddy_understands_its_file(tmp_path: Path) -> None:
    command = ["caddy", "adapt", "--config", DEPLOY / "Caddyfile", "--adapter", "caddyfile"]
    home = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    subprocess.run(command, check=True, capture_output=True, env=home)


def test_the_unit_locks_itself_in() -> None:
    settings = dict(
        line.split("=", 1) for line in UNIT.splitlines() if "=" in line and line[0] not in "#;"
    )
    assert settings["DynamicUser"] == "yes"
    assert settings["ProtectSystem"] == "strict"
    assert settings["NoNewPrivileges"] == "yes"
    assert settings["ExecStart"].startswith("/opt/routeradmin/.venv/bin/python manage.py serve")


@pytest.mark.systemd
def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / "routeradmin.service"
    runnable = re.sub(r"(?m)^ExecStart=\S+", "ExecStart=/bin/true", UNIT)
    unit.write_text(runnable.replace("file:///opt/routeradmin/docs/deploy.md", "man:none(1)"))
    found = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True
    )
    assert (found.returncode, found.stderr) == (0, "")


def test_the_image_copies_what_exists_and_runs_as_nobody() -> None:
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text().split()
    sent = {line[1:] for line in ignored if line.startswith("!")}
    copied: set[str] = set()
    for line in DOCKERFILE.splitlines():
        if line.startswith("COPY") and "--from" not in line:
            copied |= set(line.split()[1:-1])
    assert all((ROOT / path).exists() for path in copied)
    assert copied == sent
    user = next(line for line in DOCKERFILE.splitlines() if line.startswith("USER"))
    assert user == "USER 10001:10001"
    assert ":latest" not in DOCKERFILE
    assert DOCKERFILE.index("USER") > DOCKERFILE.rindex("RUN")
    bases = [line.split()[1] for line in DOCKERFILE.splitlines() if line.startswith("FROM")]
    assert len(set(bases)) == 1
