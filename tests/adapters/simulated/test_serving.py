"""Serving in a loop, in a thread, and as a command."""

from __future__ import annotations

import asyncio
import gc
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
import uvloop

from routeradmin.adapters.simulated import SimulatedProvider, running, running_in_thread
from tests.adapters.simulated.raw import Raw

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
def test_it_serves_in_the_loop_that_is_running_and_resets_there(run: object) -> None:
    async def ask() -> tuple[str, str]:
        provider = SimulatedProvider()
        provider.put_script({"steps": [{}, {"reset": "role"}]})
        async with running(provider=provider) as url:
            raw = Raw(url)
            plain = await asyncio.to_thread(raw.chat)
            broken = await asyncio.to_thread(raw.chat, stream=True)
        return plain.ended, broken.ended

    assert run(ask()) == ("complete", "reset")


def test_leaving_ends_open_calls_and_frees_the_port() -> None:
    provider = SimulatedProvider()
    provider.put_script({"steps": [{"silence": True}]})
    with running_in_thread(provider=provider) as url:
        raw = Raw(url)
        with raw.line() as line:
            line.send("POST", "/v1/chat/completions", b'{"model": "m"}', {})
            raw.calls_when(lambda counts: counts["concurrent"] == 1)

    assert provider.calls()["aborted"] == 1
    with socket.create_server(raw.address):
        pass


@pytest.mark.parametrize("turns", range(5))
@pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
def test_leaving_closes_connections_that_are_only_being_taken(run: object, turns: int) -> None:
    async def come_and_leave() -> socket.socket:
        async with running() as url:
            caller = socket.create_connection(Raw(url).address, timeout=5)
            for _ in range(turns):
                await asyncio.sleep(0)
        return caller

    with run(come_and_leave()) as caller, suppress(ConnectionResetError):
        assert caller.recv(1) == b""
    gc.collect()  # what is left open warns now


def test_a_port_that_is_taken_is_an_error_for_the_caller() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match="in use"), running_in_thread(port):
            raise AssertionError("it must not come to this")


def test_any_path_before_v1_is_the_same_provider(raw: Raw) -> None:
    assert raw.call("POST", "/labs/one/v1/chat/completions", {"model": "m"}).status == 200
    assert raw.calls()["paths"] == {"/labs/one/v1/chat/completions": 1}


def test_the_command_prints_its_url_first_and_stops_when_told(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text('{"model": "flaky", "steps": [{"status": 503}]}')
    command = [sys.executable, "manage.py", "simulate_provider", "--port", "0"]
    with subprocess.Popen(
        [*command, "--models", "flaky,steady", "--script", str(script)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        raw = Raw(process.stdout.readline().strip())
        listed = [model["id"] for model in raw.call("GET", "/v1/models").json["data"]]
        found = [raw.chat(model=name).status for name in listed]
        process.send_signal(signal.SIGTERM)

    assert (listed, found) == (["flaky", "steady"], [503, 200])
    assert process.returncode == 0


@pytest.mark.parametrize("content", ["not json", '{"steps": [{"typo": 1}]}'])
def test_the_command_refuses_a_script_it_cannot_read(tmp_path: Path, content: str) -> None:
    script = tmp_path / "script.json"
    script.write_text(content)

    done = subprocess.run(
        [sys.executable, "manage.py", "simulate_provider", "--script", str(script)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    assert str(script) in done.stderr
    assert "Traceback" not in done.stderr
