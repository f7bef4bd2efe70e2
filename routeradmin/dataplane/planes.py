"""Which paths a process answers that serves one plane only."""

from __future__ import annotations

from routeradmin.dataplane.app import Exchange, claims
from routeradmin.dataplane.errors import ApiError
from routeradmin.dataplane.http import Receive, Scope, Send, request_id
from routeradmin.services import runtime as runtimes

BOTH = ("/api/v1/explain", "/api/v1/simulate", "/healthz", "/readyz", "/health/")
METRICS = "/metrics"


def answers(plane: str, path: str) -> bool:
    """``all`` answers everything; liveness, readiness and explanations are everywhere."""
    if plane == "all" or path.startswith((*BOTH, METRICS)):
        return True
    return claims(path) is (plane == "data")


async def refuse(plane: str, scope: Scope, receive: Receive, send: Send) -> None:
    """404 that says where to ask instead."""
    runtime = runtimes.get()
    named = request_id(scope, runtime.secrets.redactor)
    exchange = Exchange(runtime, scope, receive, send, named)
    other = "control" if plane == "data" else "data"
    text = f"This process serves the {plane} plane only; ask one that serves {other} for this path."
    await exchange.refuse(ApiError(404, "not_found", text))
