"""Workers that are killed, stopped and replaced while they hold leases and streams."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.databases import database
from tests.process.family import children, holder, send
from tests.process.server import KEY, Server, until
from tests.scaleout.conftest import CATALOG
from tests.scaleout.provider import provider
from tests.scaleout.servers import RedisServer
from tests.scaleout.system import PATIENT, System, environment_of

pytestmark = [pytest.mark.services, pytest.mark.slow]

LEASE_S = 4
HELD = 50
WORKERS = 2
HEADERS = {"authorization": f"Bearer {KEY}", "content-type": "application/json"}
REPLACED = "all workers were replaced"


class Caller:
    """One connection, so one worker."""

    def __init__(self, server: Server) -> None:
        self.connection = http.client.HTTPConnection(*server.address, timeout=30)
        self.ask("GET", "/healthz")
        port = self.connection.sock.getsockname()[1]
        self.worker = holder(workers_of(server), port)

    def close(self) -> None:
        self.connection.close()

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        text = None if body is None else json.dumps(body)
        self.connection.request(method, path, text, HEADERS)
        answer = self.connection.getresponse()
        return answer.status, json.loads(answer.read())

    def select(self, model: str = "turns") -> tuple[int, Any]:
        return self.ask("POST", "/api/v1/select", {"model": model, "lease_ttl_s": LEASE_S})

    def active(self) -> int:
        _, state = self.ask("GET", "/api/v1/state")
        return sum(candidate["active"] for candidate in state["candidates"])


class Stream(threading.Thread):
    """A streamed answer; ``begun`` once its first frame is here."""

    def __init__(self, server: Server) -> None:
        super().__init__(daemon=True)
        self.server = server
        self.begun = threading.Event()
        self.text = ""
        self.start()

    def run(self) -> None:
        connection = http.client.HTTPConnection(*self.server.address, timeout=30)
        asked = {"model": "turns", "stream": True, "messages": [{"role": "user", "content": "go"}]}
        connection.request("POST", "/v1/chat/completions", json.dumps(asked), HEADERS)
        answer = connection.getresponse()
        self.text = answer.readline().decode()
        self.begun.set()
        self.text += answer.read().decode()
        connection.close()

    @property
    def is_whole(self) -> bool:
        self.join(30)
        return self.text.rstrip().endswith("data: [DONE]")


def workers_of(server: Server) -> list[int]:
    assert server.process is not None
    return children(server.process.pid)


@pytest.fixture(scope="module")
def system_here(
    own_redis: RedisServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[System]:
    with database() as url:
        environment = environment_of(url, own_redis.url, **PATIENT)
        system = System(tmp_path_factory.mktemp("ends") / "data", environment)
        yield system
        system.close()


@pytest.fixture(scope="module")
def upstream() -> Iterator[str]:
    with provider() as address:
        yield address


@pytest.fixture
def server(system_here: System, upstream: str, own_redis: RedisServer) -> Iterator[Server]:
    server = system_here.serve("--workers", str(WORKERS))
    system_here.put_catalog(server, CATALOG.replace(b"http://127.0.0.1:9", upstream.encode()))
    client = own_redis.client()

    def at_newest() -> bool:
        beats = [json.loads(text) for text in client.hvals("{routeradmin}:processes")]
        newest = [beat for beat in beats if beat["at"] > time.time() - 2]
        revisions = {beat["revision"] for beat in newest}
        return len(newest) >= WORKERS and len(revisions) == 1 and 0 not in revisions

    until(at_newest, 20)
    yield server
    client.close()
    if server.process is not None:
        server.stop(signal.SIGINT, 60)


def one_of_each(server: Server) -> tuple[Caller, Caller]:
    """Callers of two different workers."""
    first = Caller(server)
    for _ in range(200):
        other = Caller(server)
        if other.worker != first.worker:
            return first, other
        other.close()
        busy(first)
    raise AssertionError("all connections came to one worker")


def busy(caller: Caller) -> None:
    """Something to do for its worker, so that another one takes the next connection."""
    caller.connection.request("GET", "/api/v1/state", headers=HEADERS)
    caller.connection.getresponse().read()


def test_leases_of_a_killed_worker_count_until_they_run_out_and_nobody_else_fails(
    server: Server,
) -> None:
    doomed, other = one_of_each(server)
    for _ in range(HELD):
        assert doomed.select()[0] == 200
    taken_at = time.monotonic()
    until(lambda: other.active() == HELD, 5)
    send([doomed.worker], signal.SIGKILL)
    statuses = []
    while other.active() and time.monotonic() < taken_at + LEASE_S + 5:
        status, lease = other.select()
        statuses.append(status)
        statuses.append(other.ask("POST", f"/api/v1/leases/{lease['lease_id']}/release", {})[0])
    assert other.active() == 0
    assert time.monotonic() < taken_at + LEASE_S + 1
    assert set(statuses) == {200}
    doomed.close()
    other.close()
    until(lambda: len(workers_of(server)) == WORKERS, 20)


def test_sigterm_lets_streams_finish_and_gives_their_leases_back(
    server: Server, own_redis: RedisServer
) -> None:
    idle = one_of_each(server)
    streams = [Stream(server) for _ in range(6)]
    for stream in streams:
        assert stream.begun.wait(20)
    assert server.process is not None
    server.process.send_signal(signal.SIGTERM)
    until(lambda: refuses(server), 10)
    for caller in idle:
        try:
            status, answer = caller.ask("GET", "/readyz")
        except (http.client.HTTPException, ConnectionError):
            continue  # its two seconds were over on a busy machine
        finally:
            caller.close()
        assert (status, answer["status"]) == (503, "stopping")
    assert all(stream.is_whole for stream in streams)
    assert server.stop(signal.SIGCONT, 60) == 0
    with own_redis.client() as client:
        assert client.zcard("{routeradmin}:leases") == 0
    assert own_redis.slots_taken() == 0


def refuses(server: Server) -> bool:
    try:
        socket.create_connection(server.address, 5).close()
    except ConnectionRefusedError:
        return True
    return False


def test_replacing_the_workers_breaks_no_stream(server: Server) -> None:
    before = set(workers_of(server))
    streams = [Stream(server) for _ in range(6)]
    for stream in streams:
        assert stream.begun.wait(20)
    is_over = replace(server)
    while not is_over():
        streams.append(Stream(server))
        assert streams[-1].begun.wait(30)
        time.sleep(0.2)
    assert all(stream.is_whole for stream in streams)
    assert not before & set(workers_of(server))
    assert len(workers_of(server)) == WORKERS


def test_a_worker_that_is_killed_while_another_is_replaced_is_started_again_at_once(
    server: Server,
) -> None:
    killed = max(workers_of(server))  # the one whose turn comes last
    is_over = replace(server)
    until(lambda: len(workers_of(server)) == WORKERS + 1, 10)
    send([killed], signal.SIGKILL)
    until(lambda: killed not in workers_of(server) and len(workers_of(server)) > WORKERS, 10)
    assert not is_over()
    until(is_over, 80)


def replace(server: Server) -> Callable[[], bool]:
    """Whether all are replaced."""
    assert server.process is not None
    logged = server.log.read_text().count(REPLACED)
    server.process.send_signal(signal.SIGHUP)
    return lambda: server.log.read_text().count(REPLACED) > logged
