"""Stopping: at once, in order, without a traceback, whatever is open at that moment."""

from __future__ import annotations

import signal
import socket
import threading
import time

import pytest
from websockets.sync.client import connect

from tests.process.conftest import Make
from tests.process.server import KEY, Answer


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])
def test_a_signal_stops_the_server_cleanly_with_a_console_open(
    server: Make, number: signal.Signals
) -> None:
    running = server().start()
    host, port = running.address
    headers = {"authorization": f"Bearer {KEY}"}
    kept = socket.create_connection(running.address)
    with connect(f"ws://{host}:{port}/ws/console", additional_headers=headers) as console, kept:
        console.recv(timeout=10)
        began = time.monotonic()
        assert running.stop(number) == 0
    assert time.monotonic() - began < 5
    assert running.log.read_text() == ""
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(running.address)


def test_a_request_under_way_is_answered_before_the_end(server: Make) -> None:
    """The route waits for a slot; the lease that holds it runs out after the signal."""
    running = server().start()
    patient = {"when_exhausted": "wait", "max_wait_s": 8}
    changed = running.call("PATCH", "/api/v1/routes/narrow", patient, headers={"if-match": "*"})
    assert changed.status == 200, changed.body
    running.post("/api/v1/select", {"model": "narrow", "lease_ttl_s": 2})
    answers: list[Answer] = []

    def ask() -> None:
        answers.append(running.call("POST", "/api/v1/select", {"model": "narrow"}))

    asking = threading.Thread(target=ask)
    asking.start()
    asking.join(0.3)
    assert asking.is_alive()
    assert running.stop() == 0
    asking.join(10)
    assert answers[0].status == 200, answers[0].body
