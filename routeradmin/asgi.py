"""The ASGI application: data plane first, Django for the rest, sockets through Channels.

A server that speaks the lifespan protocol (``manage.py serve``, uvicorn) starts and stops the
runtime with it; under one that does not (daphne), the first request starts it, and what is queued
is written when the process ends. Migrations and static files are ``serve``'s to bring up to date.
"""

from __future__ import annotations

import asyncio
import atexit
import logging
import os
import sys
from collections.abc import MutableMapping
from typing import Any

from django.core.asgi import get_asgi_application

from routeradmin.env import BadVariable

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "routeradmin.settings")
try:
    django_application = get_asgi_application()
except BadVariable as problem:
    sys.exit(str(problem))

from asgiref.sync import sync_to_async
from channels.auth import AuthMiddlewareStack
from channels.routing import URLRouter
from django.conf import settings

from routeradmin import logs
from routeradmin.adapters import directory_lock
from routeradmin.adapters.directory_lock import DirectoryInUse
from routeradmin.console.ws_urls import websocket_urlpatterns
from routeradmin.dataplane import planes
from routeradmin.dataplane.app import DataPlane, claims
from routeradmin.dataplane.http import Receive, Scope, Send, request_id
from routeradmin.services import bootstrap, journal_writing
from routeradmin.services import runtime as runtimes
from routeradmin.worker import starting
from routeradmin.worker.loop import Worker

log = logging.getLogger(__name__)

# Refusals whose text says all there is to say; anything else comes with its traceback.
REFUSALS = (DirectoryInUse, bootstrap.NotMigrated)


class Application:
    """Dispatches by kind and path; owns the start and the stop of the process's runtime."""

    def __init__(self) -> None:
        self._data_plane = DataPlane(runtimes.get)
        self._sockets = AuthMiddlewareStack(URLRouter(websocket_urlpatterns))
        self._worker: Worker | None = None
        self._starting: asyncio.Lock | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._worker is None and scope["type"] != "lifespan":
            await self.start()
            atexit.register(_write_what_waits)
        if scope["type"] == "http":
            runtime = runtimes.get()
            if not runtime.accepting:
                send = last_on_its_connection(send)
            if not planes.answers(runtime.plane, scope["path"]):
                await planes.refuse(runtime.plane, scope, receive, send)
                return
        if scope["type"] != "lifespan" and claims(scope["path"]):
            await self._data_plane(scope, receive, send)
        elif scope["type"] == "http":
            named = request_id(scope, runtimes.get().secrets.redactor)
            with logs.answering(named.decode()):
                await django_application(scope, receive, naming(named, send))  # type: ignore[arg-type]
        elif scope["type"] == "websocket":
            await self._sockets(scope, receive, send)
        else:
            await self._lifespan(receive, send)

    async def start(self) -> None:
        """Load the snapshot, restore what survived, start the worker. Safe to call twice.

        Raises DirectoryInUse, NotMigrated.
        """
        if self._starting is None:
            self._starting = asyncio.Lock()
        async with self._starting:
            if self._worker is None:
                if not settings.IS_SHARED:
                    directory_lock.hold(settings.DATA_DIR)
                await sync_to_async(bootstrap.require_migrated)()
                self._worker = await starting.start(await runtimes.start())

    async def stop(self) -> None:
        """Readiness off, worker stopped, what is queued written."""
        if self._worker is not None:
            worker, self._worker = self._worker, None
            runtimes.get().accepting = False
            await worker.stop()
            await runtimes.stop()
            directory_lock.let_go(settings.DATA_DIR)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            message: dict[str, Any] = dict(await receive())
            try:
                if message["type"] == "lifespan.startup":
                    await self.start()
                else:
                    await self.stop()
            except Exception as problem:
                if not isinstance(problem, REFUSALS):
                    log.exception("%s failed", message["type"])
                await send({"type": message["type"] + ".failed", "message": str(problem)})
                return
            await send({"type": message["type"] + ".complete"})
            if message["type"] == "lifespan.shutdown":
                return


def last_on_its_connection(send: Send) -> Send:
    """While this process stops: whoever asks again does so at one that stays."""

    async def wrapped(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            headers = [h for h in message.get("headers", ()) if h[0] != b"connection"]
            message["headers"] = [*headers, (b"connection", b"close")]
        await send(message)

    return wrapped


def naming(request_id: bytes, send: Send) -> Send:
    """The answer says which request it is to, as its log lines do."""

    async def wrapped(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", ()), (b"x-request-id", request_id)]
        await send(message)

    return wrapped


def _write_what_waits() -> None:
    """For servers that end without telling: by now no event loop is left to stop anything on."""
    runtime = runtimes.get()
    if runtime.accepting:
        runtime.writer.shutdown()
        journal_writing.write(runtime)


application = Application()
