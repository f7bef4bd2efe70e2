"""The decision API over one socket: ``/ws/select``.

Frames are JSON: ``{"id", "op", "lease_id"?, "body"}`` in, ``{"id", "status", "body"}`` out, in the
order in which answers are ready. Leases taken on a socket are given back when it closes.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import orjson

from routeradmin.dataplane import decision, faults
from routeradmin.dataplane.auth import authorize
from routeradmin.dataplane.errors import ApiError
from routeradmin.dataplane.http import Receive, Scope, Send, parse, request_id
from routeradmin.engine.state import LeaseFenced, LeaseNotFound, ReportState
from routeradmin.services import explaining, postponing
from routeradmin.services.asking import Headers
from routeradmin.services.circumstances import read_headers
from routeradmin.services.keys import Key
from routeradmin.services.messages import Release, Renew, Report, Select
from routeradmin.services.runtime import Runtime

log = logging.getLogger(__name__)

PATH = "/ws/select"
MOST_AT_ONCE = 1024
LEAST_HELD = 1024  # leases that are looked through for those that are over
MOST_FRAME_BYTES = 1024 * 1024
MOST_BYTES_AT_ONCE = 4 * MOST_FRAME_BYTES
CLOSE_CODES = {401: 4401, 403: 4403}

Op = Callable[[str, bytes, Key], Awaitable[bytes]]


async def serve(runtime: Callable[[], Runtime], scope: Scope, receive: Receive, send: Send) -> None:
    """One connection, from its handshake to its end."""
    await receive()  # websocket.connect
    if scope["path"] != PATH:
        await send({"type": "websocket.close"})
        return
    try:
        authorize(runtime(), scope, "select")
        await send({"type": "websocket.accept"})
    except ApiError as problem:
        # Refused before it is accepted, a browser would try again for ever.
        await send({"type": "websocket.accept"})
        code = CLOSE_CODES.get(problem.status, 4400)
        await send({"type": "websocket.close", "code": code, "reason": problem.code})
        return
    socket = DecisionSocket(runtime(), scope, send)
    try:
        while (message := await receive())["type"] == "websocket.receive":
            text = message.get("text")
            await socket.take(text.encode() if text is not None else message.get("bytes") or b"")
    finally:
        await socket.close()


class DecisionSocket:
    """The leases of one connection, and what it is being asked."""

    def __init__(self, runtime: Runtime, scope: Scope, send: Send) -> None:
        self._runtime = runtime
        self._scope = scope
        self._send = send
        self._request_id = request_id(scope, runtime.secrets.redactor).decode()
        self._leases: dict[str, Key] = {}
        self._many = LEAST_HELD
        self._tasks: set[asyncio.Task[None]] = set()
        self._waiting: set[asyncio.Task[Any]] = set()  # those of them that may wait for long
        self._is_closing = False
        self._room = asyncio.Semaphore(MOST_AT_ONCE)
        self._bytes = 0  # of the frames under way
        self._ops: dict[str, tuple[Op, tuple[str, ...]]] = {
            "select": (self._select, ("select",)),
            "report": (self._report, ("select",)),
            "renew": (self._renew, ("select",)),
            "release": (self._release, ("select",)),
            "explain": (self._explain, ("select", "read")),
        }

    async def take(self, frame: bytes) -> None:
        """Start on a frame; waits while too many, or too much, is under way."""
        await self._room.acquire()
        while self._tasks and self._bytes + len(frame) > MOST_BYTES_AT_ONCE:
            await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
        self._bytes += len(frame)
        task = asyncio.create_task(self._answer(frame))
        self._tasks.add(task)
        task.add_done_callback(lambda done: self._done(done, len(frame)))

    async def close(self) -> None:
        """Let nothing wait any longer, and give every lease back. What was said of a lease is
        carried through: once the store has kept it, nobody else would record it."""
        self._is_closing = True
        for task in self._waiting:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for lease_id, key in list(self._leases.items()):
            try:
                await postponing.release(self._runtime, lease_id, Release(), key)
            except (LeaseFenced, LeaseNotFound):
                log.debug("lease %s of a closed socket was over already", lease_id)

    def _done(self, task: asyncio.Task[None], size: int) -> None:
        self._tasks.discard(task)
        self._bytes -= size
        self._room.release()

    async def _answer(self, frame: bytes) -> None:
        name: Any = None
        try:
            asked = envelope(frame)
            name = asked.get("id")
            status, body = 200, await self._carry_out(asked)
        except ApiError as problem:
            status, body = problem.status, problem.body()
        except faults.KNOWN as problem:
            told = faults.answer_for(problem)
            status, body = told.status, told.body()
        except Exception:
            log.exception("a frame of socket %s failed", self._request_id)
            told = ApiError(
                500,
                "internal_error",
                "Something is wrong in routeradmin itself; its log has the details under request "
                f"id {self._request_id}.",
            )
            status, body = told.status, told.body()
        text = b'{"id":%s,"status":%d,"body":%s}' % (orjson.dumps(name), status, body)
        await self._send({"type": "websocket.send", "text": text.decode()})

    async def _carry_out(self, asked: dict[str, Any]) -> bytes:
        op = self._ops.get(str(asked.get("op")))
        if op is None:
            names = ", ".join(self._ops)
            raise ApiError(422, "invalid_request", f"'op' must be one of {names}.", param="op")
        carry_out, scopes = op
        # Asked every time: a key may be revoked while its socket lives.
        key = authorize(self._runtime, self._scope, *scopes)
        lease_id = asked.get("lease_id")
        body = orjson.dumps(asked.get("body") or {})
        return await carry_out(lease_id if isinstance(lease_id, str) else "", body, key)

    async def _select(self, lease_id: str, body: bytes, key: Key) -> bytes:
        message = decision.permitted(parse(Select, body), key)
        with self._while_it_waits():
            selected = await postponing.select(
                self._runtime, message, key, self._request_id, self._headers()
            )
        self._leases[selected.lease.id] = key
        if len(self._leases) > self._many:
            await self._forget_closed()
        return selected.as_json()

    async def _forget_closed(self) -> None:
        """Leases that ran out, or were reported elsewhere, are not this socket's to give back."""
        for lease_id in list(self._leases):
            if not await self._is_open(lease_id):
                self._leases.pop(lease_id, None)
        self._many = max(LEAST_HELD, 2 * len(self._leases))

    async def _is_open(self, lease_id: str) -> bool:
        try:
            return await self._runtime.store.phase(lease_id) is ReportState.OPEN
        except LeaseNotFound:
            return False

    async def _report(self, lease_id: str, body: bytes, key: Key) -> bytes:
        message = parse(Report, body)
        answer = await postponing.report(self._runtime, lease_id, message, key, self._request_id)
        self._leases.pop(lease_id, None)
        return orjson.dumps(answer)

    async def _renew(self, lease_id: str, body: bytes, key: Key) -> bytes:
        return orjson.dumps(
            await postponing.renew(self._runtime, lease_id, parse(Renew, body), key)
        )

    async def _release(self, lease_id: str, body: bytes, key: Key) -> bytes:
        answer = await postponing.release(self._runtime, lease_id, parse(Release, body), key)
        self._leases.pop(lease_id, None)
        return orjson.dumps(answer)

    async def _explain(self, lease_id: str, body: bytes, key: Key) -> bytes:
        message = parse(Select, body)
        with self._while_it_waits():
            answer = await explaining.explain(self._runtime, message, key, self._headers())
        return orjson.dumps(answer)

    @contextmanager
    def _while_it_waits(self) -> Iterator[None]:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101
        if self._is_closing:  # its frame came last, and it begins only now
            task.cancel()
        self._waiting.add(task)
        try:
            yield
        finally:
            self._waiting.discard(task)

    def _headers(self) -> Headers:
        """Those of the handshake that some rule reads."""
        return read_headers(self._runtime.current.snapshot, self._scope["headers"])


def envelope(frame: bytes) -> dict[str, Any]:
    """Raises ApiError 400 for what is no JSON object, 413 for a frame that is too large."""
    if len(frame) > MOST_FRAME_BYTES:
        raise ApiError(
            413, "request_too_large", f"The frame is larger than {MOST_FRAME_BYTES} bytes."
        )
    try:
        asked = orjson.loads(frame)
    except orjson.JSONDecodeError:
        asked = None
    if not isinstance(asked, dict):
        raise ApiError(400, "invalid_json", "A frame must be one JSON object in UTF-8.")
    return asked
