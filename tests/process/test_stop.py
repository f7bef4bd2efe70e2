"""Stopping: at once, in order, without a traceback, whatever is open at that moment."""

from __future__ import annotations

import signal
import socket
import threading
import time

import pytest
from websockets.sync.client import connect

from tests.process.conftest import Make
from tests.process.server import KEY, Answer, until


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


def test_a_request_under_way_is_answered_before_the_end_and_a_second_ctrl_c_ends_it_in_words(
    server: Make,
) -> None:
    """The route waits for a slot; the lease that holds it runs out after the signal."""
    running = server().start()
    patient = {"when_exhausted": "wait", "max_wait_s": 8}
    changed = running.call("PATCH", "/api/v1/routes/narrow", patient, headers={"if-match": "*"})
    assert changed.status == 200, changed.body
    running.post("/api/v1/select", {"model": "narrow", "lease_ttl_s": 2})
    answers: list[Answer] = []

    def ask() -> None:
        answers.append(running.call("POST", "/api/v1/select", {"model": "narrow"}))

    asking = [threading.Thread(target=ask) for _ in range(2)]
    for one in asking:
        one.start()
    asking[0].join(0.3)
    assert all(one.is_alive() for one in asking)
    assert running.process is not None
    running.process.send_signal(signal.SIGINT)
    until(lambda: len(answers) == 1, 10)  # only one slot was given back
    assert running.stop() == 0
    for one in asking:
        one.join(10)
    assert [answer.status for answer in answers] == [200, 503], answers
    assert answers[1].json()["error"]["code"] == "server_stopping"
