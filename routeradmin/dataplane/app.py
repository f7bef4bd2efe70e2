"""The data plane: a bare ASGI application that answers decisions and inference.

It reads the snapshot and the runtime state, never the database. Paths it does not claim go to
Django (see ``routeradmin.asgi``).
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from urllib.parse import unquote

from routeradmin.dataplane import (
    decision,
    dialects,
    faults,
    inference,
    metrics,
    models,
    probes,
    socket,
)
from routeradmin.dataplane.errors import ApiError
from routeradmin.dataplane.http import (
    JSON,
    ClientGone,
    Header,
    Receive,
    Scope,
    Send,
    request_id,
)
from routeradmin.services.runtime import Runtime

log = logging.getLogger(__name__)

Handler = Callable[["Exchange"], Awaitable[None]]


@dataclass(slots=True)
class Exchange:
    """One request and the way to answer it."""

    runtime: Runtime
    scope: Scope
    receive: Receive
    send: Send
    request_id: bytes
    argument: str = ""  # what the path holds beyond its route, e.g. a lease id
    answered: bool = False

    async def reply(
        self,
        status: int,
        body: bytes,
        headers: tuple[tuple[bytes, bytes], ...] = (),
        content_type: Header = JSON,
    ) -> None:
        self.answered = True
        start = {
            "type": "http.response.start",
            "status": status,
            "headers": [
                content_type,
                (b"content-length", b"%d" % len(body)),
                (b"x-request-id", self.request_id),
                *headers,
            ],
        }
        await self.send(start)
        await self.send({"type": "http.response.body", "body": body})

    async def refuse(self, problem: ApiError) -> None:
        anthropic = dialects.is_anthropic(self.scope["path"])
        body = dialects.error_body(problem, anthropic=anthropic)
        await self.reply(problem.status, body, tuple(problem.headers()))


EXACT: dict[str, dict[str, Handler]] = {
    "/api/v1/select": {"POST": decision.select},
    "/api/v1/explain": {"POST": decision.explain},
    "/api/v1/simulate": {"POST": decision.simulate},
    "/v1/chat/completions": {"POST": inference.chat_completions},
    "/v1/completions": {"POST": inference.completions},
    "/v1/embeddings": {"POST": inference.embeddings},
    "/v1/responses": {"POST": inference.responses},
    "/v1/messages": {"POST": inference.messages},
    "/v1/messages/count_tokens": {"POST": inference.count_tokens},
    "/v1/models": {"GET": models.listed, "HEAD": models.listed},
    "/healthz": {"GET": probes.healthz, "HEAD": probes.healthz},
    "/readyz": {"GET": probes.readyz, "HEAD": probes.readyz},
    "/metrics": {"GET": metrics.metrics, "HEAD": metrics.metrics},
    "/health/liveliness": {"GET": probes.healthz, "HEAD": probes.healthz},
    "/health/readiness": {"GET": probes.readyz, "HEAD": probes.readyz},
}
LEASES = "/api/v1/leases/"
MODELS = "/v1/models/"
LEASE_VERBS: dict[str, Handler] = {
    "report": decision.report,
    "renew": decision.renew,
    "release": decision.release,
}


def claims(path: str) -> bool:
    """Whether the data plane answers this path, be it with a 404 in its own shape."""
    return path in EXACT or path.startswith((LEASES, "/v1/")) or path in ("/v1", socket.PATH)


def find(path: str) -> tuple[dict[str, Handler], str]:
    """The handlers by method, and the path's argument. Raises ApiError 404."""
    methods = EXACT.get(path)
    if methods is not None:
        return methods, ""
    if path.startswith(LEASES):
        lease_id, _, verb = path[len(LEASES) :].rpartition("/")
        handler = LEASE_VERBS.get(verb)
        if lease_id and handler is not None:
            return {"POST": handler}, unquote(lease_id)
    if path.startswith(MODELS) and len(path) > len(MODELS):
        return {"GET": models.one, "HEAD": models.one}, path[len(MODELS) :]
    raise ApiError(404, "not_found", f"There is nothing at {path}; see /api/v1/docs for the paths.")


class DataPlane:
    """ASGI callable over one runtime."""

    def __init__(self, runtime: Callable[[], Runtime]) -> None:
        self._runtime = runtime

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await socket.serve(self._runtime, scope, receive, send)
            return
        runtime = self._runtime()
        named = request_id(scope, runtime.secrets.redactor)
        exchange = Exchange(runtime, scope, receive, send, named)
        try:
            methods, exchange.argument = find(scope["path"])
            handler = methods.get(scope["method"])
            if handler is None:
                allowed = ", ".join(sorted(methods))
                raise ApiError(
                    405,
                    "method_not_allowed",
                    f"{scope['method']} is not possible here; use {allowed}.",
                    headers=((b"allow", allowed.encode()),),
                )
            await handler(exchange)
        except ApiError as problem:
            await exchange.refuse(problem)
        except faults.KNOWN as problem:
            await exchange.refuse(faults.answer_for(problem))
        except ClientGone:
            log.debug("client left before its request was complete")
        except Exception:
            log.exception("a request failed", extra={"request_id": exchange.request_id.decode()})
            if exchange.answered:
                raise
            fault = ApiError(
                500,
                "internal_error",
                "Something is wrong in routeradmin itself; its log has the details under request "
                f"id {exchange.request_id.decode()}.",
            )
            await exchange.refuse(fault)
