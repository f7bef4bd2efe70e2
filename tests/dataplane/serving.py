"""A whole gateway on a loopback port: real server, real sockets, simulated upstream, own clock."""

from __future__ import annotations

import asyncio
import http.client
import json
import random
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn

from routeradmin.adapters.sealing import Sealer, Secret
from routeradmin.adapters.simulated import SimulatedProvider, running
from routeradmin.adapters.state_memory import MemoryStore
from routeradmin.adapters.upstream import UpstreamClient
from routeradmin.catalog.compile import compile
from routeradmin.catalog.document import Document
from routeradmin.dataplane.app import DataPlane
from routeradmin.engine.state import CandidateState
from routeradmin.services.keys import Key, token_hash
from routeradmin.services.runtime import Runtime
from routeradmin.services.secrets import Opened
from tests.conftest import FERNET_KEY, FakeClock
from tests.records import told

KEY = "rk_test-key-0123456789"
SECRET = "sk-{}-q7Zx93vWk2LmN8pR"
EVERYTHING = frozenset({"select", "secrets", "inference", "read", "write", "admin"})
WAIT_S = 10


@dataclass
class Answer:
    """A whole answer; header names in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> dict[str, Any]:
        found: dict[str, Any] = self.json["error"]
        return found

    @property
    def halt(self) -> str | None:
        return self.headers.get("x-routeradmin-halt")

    @property
    def events(self) -> list[str]:
        """The data of every event of a stream."""
        return data_of(self.body)

    @property
    def frames(self) -> list[dict[str, Any]]:
        return [json.loads(data) for data in self.events if data != "[DONE]"]

    @property
    def text(self) -> str:
        """What a chat stream said."""
        return "".join(
            choice["delta"].get("content") or ""
            for frame in self.frames
            for choice in frame.get("choices") or ()
        )


def data_of(body: bytes) -> list[str]:
    found = []
    for block in body.decode().replace("\r\n", "\n").split("\n\n"):
        lines = [line[5:].removeprefix(" ") for line in block.split("\n") if line[:5] == "data:"]
        if lines:
            found.append("\n".join(lines))
    return found


@dataclass
class Gateway:
    """What a test holds of a running gateway."""

    runtime: Runtime
    provider: SimulatedProvider
    clock: FakeClock
    port: int = 0
    upstream: str = ""
    loop: asyncio.AbstractEventLoop | None = None
    slept: list[float] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def use(self, document: Document, revision: int = 1) -> None:
        """Put a catalog in force; every account's secret is ``SECRET`` with its id."""
        secrets = {
            account.id: Secret(SECRET.format(account.id))
            for account in document.accounts
            if account.auth_kind != "anonymous"
        }
        runtime = self.runtime
        runtime.secrets.swap(Opened(secrets))
        snapshot = compile(document, revision, selectors=runtime.selectors)
        runtime.store.bind(snapshot)
        runtime.current.swap(snapshot, document)

    def key(self, token: str = KEY, **fields: Any) -> str:
        """Let this key in."""
        values: dict[str, Any] = {"name": "test", "scopes": EVERYTHING, **fields}
        self.runtime.keys._by_hash[token_hash(token)] = Key(uid=token[-8:], **values)
        return token

    def script(self, model: str, *steps: dict[str, Any], **more: Any) -> None:
        self.provider.put_script({"model": model, "steps": list(steps), **more})

    def calls(self, model: str | None = None) -> int:
        """Requests that reached the upstream, for all models or one."""
        counted = self.provider.calls()
        if model is None:
            return int(counted["total"])
        found = counted["models"].get(model, 0)
        return int(found["calls"] if isinstance(found, dict) else found)

    def last_call(self) -> dict[str, Any]:
        found: dict[str, Any] = self.provider.calls(last=1)["requests"][-1]
        return found

    def post(
        self,
        body: dict[str, Any] | bytes | None = None,
        path: str = "/v1/chat/completions",
        *,
        headers: Mapping[str, str] = {},
        key: str = KEY,
        **fields: Any,
    ) -> Answer:
        if body is None:
            body = chat(**fields)
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.request("POST", path, raw, headers=headers, key=key)

    def get(self, path: str, *, headers: Mapping[str, str] = {}, key: str = KEY) -> Answer:
        return self.request("GET", path, headers=headers, key=key)

    def request(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        *,
        headers: Mapping[str, str] = {},
        key: str | None = KEY,
    ) -> Answer:
        sent = {"content-type": "application/json", **headers}
        if key is not None:
            sent.setdefault("authorization", f"Bearer {key}")
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT_S)
        try:
            connection.request(method, path, body, sent)
            response = connection.getresponse()
            found = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, found, response.read())
        finally:
            connection.close()

    def open_stream(self, **fields: Any) -> socket.socket:
        """A streaming request whose socket the test reads and closes itself."""
        raw = json.dumps(chat(stream=True, **fields)).encode()
        head = (
            "POST /v1/chat/completions HTTP/1.1\r\nhost: gateway\r\n"
            f"authorization: Bearer {KEY}\r\ncontent-type: application/json\r\n"
            f"content-length: {len(raw)}\r\n\r\n"
        )
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=WAIT_S)
        connection.sendall(head.encode() + raw)
        return connection

    def settle(self) -> None:
        """Until everything that is under way in the gateway's loop has had its turn."""
        assert self.loop is not None
        asyncio.run_coroutine_threadsafe(_rounds(), self.loop).result(WAIT_S)

    def drop_connections(self) -> None:
        """The next call to the upstream opens a new one."""
        assert self.loop is not None
        asyncio.run_coroutine_threadsafe(self.runtime.upstream.close(), self.loop).result(WAIT_S)

    def until(self, condition: Any) -> None:
        """Wait for something that the gateway does by itself; fails after a while."""
        for _ in range(2000):
            if condition():
                return
            self.settle()
        raise AssertionError("it did not come to that")

    def state(self, deployment: str) -> CandidateState:
        """Of a deployment with one credential, or the first one seen."""
        return next(s for s in self.runtime.store.states() if s.key.deployment == deployment)

    @property
    def active(self) -> int:
        return sum(state.active for state in self.runtime.store.states())

    @property
    def records(self) -> list[dict[str, Any]]:
        """Turn records that wait for the database, oldest first."""
        return [told(record) for record in self.runtime.journal._turns]

    @property
    def record(self) -> dict[str, Any]:
        return self.records[-1]


async def _rounds() -> None:
    for _ in range(20):
        await asyncio.sleep(0.0005)


def chat(model: str = "chat", **fields: Any) -> dict[str, Any]:
    return {"model": model, "messages": [{"role": "user", "content": "Which way?"}], **fields}


@contextmanager
def gateway() -> Iterator[Gateway]:
    """Serve in a thread of its own; waits of turns move the clock and take no time."""
    clock = FakeClock()
    runtime = Runtime(
        clock=clock,
        rng=random.Random(7),
        store=MemoryStore(epoch="test"),
        sealer=Sealer([FERNET_KEY]),
        upstream=UpstreamClient("loopback"),
        accepting=True,
    )
    held = Gateway(runtime, SimulatedProvider(now=clock, keep_bodies=True), clock)

    async def sleep(seconds: float) -> None:
        held.slept.append(seconds)
        clock.advance(seconds)

    runtime.sleep = sleep
    held.key()
    started, stopping = threading.Event(), threading.Event()
    thread = threading.Thread(target=lambda: asyncio.run(_serve(held, started, stopping)))
    thread.start()
    try:
        assert started.wait(WAIT_S), "the gateway did not start"
        yield held
    finally:
        stopping.set()
        thread.join(WAIT_S)
        runtime.writer.shutdown()


async def _serve(held: Gateway, started: threading.Event, stopping: threading.Event) -> None:
    held.loop = asyncio.get_running_loop()
    config = uvicorn.Config(
        DataPlane(lambda: held.runtime),
        log_level="error",
        lifespan="off",
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    held.port = listener.getsockname()[1]
    async with running(provider=held.provider) as upstream:
        held.upstream = upstream
        serving = asyncio.ensure_future(server._serve([listener]))
        while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
            await asyncio.sleep(0.001)
        started.set()
        while not stopping.is_set():  # noqa: ASYNC110 - set by another thread
            await asyncio.sleep(0.005)
        server.should_exit = True
        await serving
        await held.runtime.upstream.close()
