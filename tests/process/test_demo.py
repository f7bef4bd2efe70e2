"""The first minute of the demo: what an operator sees without doing anything."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.process.collected import bring
from tests.process.conftest import BOOTSTRAP, Make
from tests.process.server import Server, until

pytestmark = pytest.mark.slow

USUAL_PORT = 18999  # of the fixture's providers, which other tests' demos take too


def watch(server: Server, seen: set[str]) -> bool:
    """Note what there is to see now; True once everything was."""
    for one in server.get("/api/v1/state")["candidates"]:
        seen.add(str(one["state"]))
        cooldown = one["cooldown"]
        if cooldown:
            seen.add(f"cooling: {cooldown['class']}")
        if one["active"] > 1:
            seen.add("slots in use")
    for event in server.get("/api/v1/events?limit=100")["items"]:
        seen.add(f"event: {event['kind']}")
    for turn in server.get("/api/v1/turns?limit=100")["items"]:
        seen.update(ways(turn))
    return seen >= WANTED


WANTED = {
    "healthy",
    "slots in use",
    "cooling: rate-limited",
    "cooling: transient",
    "recovering",
    "event: cooldown-set",
    "event: healthy",
    "second tier",
    "fallback route",
    "another try succeeded",
}


def ways(turn: dict[str, Any]) -> set[str]:
    """How a turn went, in the words of WANTED."""
    attempts = turn.get("attempts") or []
    targets = [str(one["target"]) for one in attempts]
    found = set()
    if turn["route"] == "chat":
        found |= {"second tier"} & {"second tier" for one in targets if one.startswith("chat-2")}
        found |= {"fallback route" for one in targets if one.startswith("fast-")}
    if len(attempts) > 1 and turn["halt"] == "succeeded":
        found.add("another try succeeded")
    return found


@contextmanager
def taken(port: int) -> Iterator[None]:
    with socket.socket() as listener:
        with suppress(OSError):  # another demo has it
            listener.bind(("127.0.0.1", port))
            listener.listen()
        yield


def test_the_first_minute_shows_cooldowns_recovery_tiers_and_fallback(tmp_path: Path) -> None:
    with taken(USUAL_PORT):  # so that it gets one of its own, which is free at the next start too
        server = Server(bring(tmp_path / "demo"), ("--demo",), BOOTSTRAP).start()
    seen: set[str] = set()
    try:
        until(lambda: watch(server, seen), 60, pause_s=0.5)
    except AssertionError:
        pytest.fail(f"not seen: {sorted(WANTED - seen)}; seen: {sorted(seen)}")
    finally:
        assert server.stop() == 0
    # A turn may fail in a minute of broken providers; nothing else is worth a line.
    log = server.log.read_text().splitlines()
    assert [line for line in log if " WARNING routeradmin.turns: turn ended: " not in line] == []

    again = Server(server.directory, ("--demo",)).start()
    state = again.get("/api/v1/state")
    assert state["revision"] == 1  # the same port again: nothing to publish
    assert len(state["candidates"]) == 7
    assert again.stop() == 0


def test_the_demo_leaves_an_operators_catalog_alone(server: Make) -> None:
    running = server("--demo").start()
    listed = running.get("/api/v1/providers")["items"]
    assert [one["id"] for one in listed] == ["lab"]
    assert "stays as it is" in running.log.read_text()
    assert running.stop() == 0
