"""What a kill leaves behind, and what a database in trouble does to a server that goes on."""

from __future__ import annotations

import signal
import threading
import time
from http.client import HTTPException
from typing import Any

from tests.databases import ON_POSTGRES, ask
from tests.process.conftest import Make
from tests.process.server import Server, until

SAVED_WITHIN_S = 0.25
TURNS_WITHOUT_ATTEMPTS = """
SELECT count(*) FROM journal_turn WHERE id NOT IN (SELECT turn_id FROM journal_attempt)
"""
MISSED = (
    'relation "journal_event" does not exist' if ON_POSTGRES else "no such table: journal_event"
)


def hammer(server: Server, stop: threading.Event) -> None:
    """Callers who select and report until the server is gone; every fifth one meets a 503."""
    n = 0
    while not stop.is_set():
        n += 1
        try:
            chosen = server.call("POST", "/api/v1/select", {"model": "chat", "exclude": ["two"]})
            lease = chosen.json().get("lease_id")
            told = {"outcome": "failure", "status": 503} if n % 5 == 0 else {"outcome": "success"}
            if lease:
                server.call("POST", f"/api/v1/leases/{lease}/report", told)
        except (OSError, HTTPException, ValueError):
            return


def test_a_kill_during_traffic_loses_nothing_but_the_last_moment(server: Make) -> None:
    running = server().start()
    stop = threading.Event()
    callers = [threading.Thread(target=hammer, args=(running, stop)) for _ in range(4)]
    for caller in callers:
        caller.start()
    leases = [running.post("/api/v1/select", {"model": "chat", "exclude": ["one"]}) for _ in "ab"]
    for lease, hint in zip(leases, (None, "120"), strict=True):  # a level, then a long cooldown
        facts = {"outcome": "failure", "status": 429, "retry_after": hint}
        running.post(f"/api/v1/leases/{lease['lease_id']}/report", facts)
    running.post("/api/v1/select", {"model": "narrow"})
    tight = {"deployment": "tight", "seconds": 500, "reason": "kept over a crash"}
    running.post("/api/v1/cooldowns", tight | {"credential": "open"})
    configured = running.call("GET", "/api/v1/catalog").body
    before = {one["id"]: one for one in running.get("/api/v1/state")["candidates"]}
    time.sleep(SAVED_WITHIN_S)  # what is promised: later changes may be lost, these may not
    running.stop(signal.SIGKILL)
    stop.set()
    for caller in callers:
        caller.join(20)

    if not ON_POSTGRES:  # which was not killed
        assert ask(running.directory, "PRAGMA integrity_check") == [("ok",)]
        assert ask(running.directory, "PRAGMA foreign_key_check") == []
    again = server().start()
    assert again.call("GET", "/api/v1/catalog").body == configured
    after_restart = {one["id"]: one for one in again.get("/api/v1/state")["candidates"]}
    for id in ("two/open", "tight/open"):
        assert kept_of(after_restart[id]) == kept_of(before[id])
        assert after_restart[id]["active"] == 0
    assert after_restart["two/open"]["level"] == 1
    remaining = after_restart["tight/open"]["cooldown"]["remaining_s"]
    assert 400 < remaining < before["tight/open"]["cooldown"]["remaining_s"]
    assert ask(running.directory, TURNS_WITHOUT_ATTEMPTS) == [(0,)]
    assert again.stop() == 0


def kept_of(candidate: dict[str, Any]) -> dict[str, Any]:
    """What survives, without what runs on."""
    cooldown = candidate["cooldown"] or {}
    return {
        "level": candidate["level"],
        "last_error": candidate["last_error"],
        **{name: value for name, value in cooldown.items() if name != "remaining_s"},
    }


def test_a_database_that_refuses_writes_degrades_the_server_and_is_caught_up_afterwards(
    server: Make,
) -> None:
    running = server().start()
    ask(running.directory, "ALTER TABLE journal_event RENAME TO out_of_reach")
    lease = running.post("/api/v1/select", {"model": "chat"})
    facts = {"outcome": "failure", "status": 429, "retry_after": "90"}
    running.post(f"/api/v1/leases/{lease['lease_id']}/report", facts)
    until(lambda: running.get("/readyz")["degraded"] == ["database"], 5)
    assert running.get("/api/v1/state")["degraded"] == ["database"]
    running.post("/api/v1/select", {"model": "chat"})
    ask(running.directory, "ALTER TABLE out_of_reach RENAME TO journal_event")
    until(lambda: running.get("/readyz")["degraded"] == [], 8)
    events = running.get("/api/v1/events?limit=20")["items"]
    assert "cooldown-set" in [one["kind"] for one in events]
    assert MISSED in running.log.read_text()
    assert running.stop() == 0
