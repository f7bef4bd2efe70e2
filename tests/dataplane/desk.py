"""A desk to try the data plane at: the real ASGI callable over a catalog of the test's own."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import orjson

from routeradmin.catalog.document import Document
from routeradmin.dataplane.app import DataPlane
from routeradmin.engine.snapshot import Snapshot
from routeradmin.services.keys import Key, token_hash
from routeradmin.services.runtime import Runtime

TOKEN = "rk_test-token-with-every-scope"
ALL_SCOPES = frozenset({"select", "secrets", "inference", "read", "write", "admin"})
T = TypeVar("T")


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return orjson.loads(self.body)

    @property
    def error(self) -> Any:
        return self.json["error"]

    @property
    def code(self) -> str:
        return str(self.error["code"])


class Desk:
    """Calls the data plane without a server between; one event loop for all calls of a test."""

    def __init__(self, runtime: Runtime, runner: asyncio.Runner) -> None:
        self.runtime = runtime
        self._plane = DataPlane(lambda: runtime)
        self._runner = runner
        self.let("everything", TOKEN, ALL_SCOPES)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(work)

    def publish(self, snapshot: Snapshot) -> None:
        self.runtime.current.swap(snapshot, Document())
        self.runtime.store.bind(snapshot)
        self.runtime.accepting = True

    def let(
        self,
        name: str,
        token: str,
        scopes: frozenset[str],
        routes: frozenset[str] | None = None,
        **limits: Any,
    ) -> None:
        """Make a key; the ones made before stay."""
        keys = getattr(self, "_keys", {})
        keys[token_hash(token)] = Key(name, name, scopes, routes, **limits)
        self._keys = keys
        self.runtime.keys.hold(keys)

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        token: str | None = TOKEN,
        headers: Sequence[tuple[str, str]] = (),
        raw: bytes | None = None,
    ) -> Answer:
        sent = raw if raw is not None else b"" if body is None else orjson.dumps(body)
        given = [(name.lower().encode(), value.encode()) for name, value in headers]
        if token is not None:
            given.append((b"authorization", f"Bearer {token}".encode()))
        return self.run(self._exchange(method, path, sent, given))

    async def _exchange(
        self, method: str, path: str, body: bytes, headers: list[tuple[bytes, bytes]]
    ) -> Answer:
        pieces = [body[at : at + 65536] for at in range(0, len(body), 65536)] or [b""]
        incoming = [
            {"type": "http.request", "body": piece, "more_body": n < len(pieces) - 1}
            for n, piece in enumerate(pieces)
        ]
        sent: list[dict[str, Any]] = []

        async def receive() -> Any:
            return incoming.pop(0) if incoming else {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "headers": headers,
            "raw_path": path.encode(),
            "query_string": b"",
        }
        await self._plane(scope, receive, send)
        start, *rest = sent
        named = {name.decode(): value.decode() for name, value in start["headers"]}
        return Answer(start["status"], named, b"".join(part.get("body", b"") for part in rest))

    def select(self, model: str = "m", **facts: Any) -> Answer:
        token = facts.pop("token", TOKEN)
        return self.call("POST", "/api/v1/select", {"model": model, **facts}, token=token)

    def took(self, model: str = "m", **facts: Any) -> Any:
        """A select that must succeed; its answer."""
        answer = self.select(model, **facts)
        assert answer.status == 200, answer.body
        return answer.json

    def report(self, lease: Any, **facts: Any) -> Answer:
        lease_id = lease if isinstance(lease, str) else lease["lease_id"]
        return self.call("POST", f"/api/v1/leases/{lease_id}/report", facts)

    def failed(self, lease: Any, status: int, **facts: Any) -> Any:
        """Report a failure with this status; the answer."""
        answer = self.report(lease, outcome="failure", status=status, **facts)
        assert answer.status == 200, answer.body
        return answer.json

    def succeeded(self, lease: Any, **facts: Any) -> Any:
        answer = self.report(lease, outcome="success", status=200, **facts)
        assert answer.status == 200, answer.body
        return answer.json
