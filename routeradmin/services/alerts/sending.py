"""One attempt to deliver one message: signed, to allowed addresses only, no redirects followed."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

from routeradmin.adapters import webhooks
from routeradmin.adapters.upstream import EndpointSettings, UpstreamCall, UpstreamFailure
from routeradmin.services.alerts.messages import Message
from routeradmin.services.alerts.targets import Target

if TYPE_CHECKING:
    from routeradmin.services.runtime import Runtime

SETTINGS = EndpointSettings(
    connect_timeout_s=5, header_timeout_s=10, idle_timeout_s=10, total_timeout_s=15
)
GONE = 410  # the receiver asks for no more


@dataclass(frozen=True, slots=True)
class Sent:
    """How it went. ``detail`` says what to do where it failed, and quotes nothing of the answer."""

    ok: bool
    status: int | None
    detail: str
    duration_ms: float


async def send(runtime: Runtime, target: Target, message: Message) -> Sent:
    """Never raises; the answer's body is not read."""
    began = perf_counter()
    headers = webhooks.headers(target.secret, message.id, int(runtime.clock()), message.body)
    call = UpstreamCall(target.url, headers, message.body, settings=SETTINGS)
    try:
        async with runtime.upstream.send(call) as answer:
            status = answer.status
    except UpstreamFailure as failure:
        return Sent(False, None, failure.message, _since(began))
    ok = 200 <= status < 300
    return Sent(ok, status, "" if ok else f"the receiver answered {status}", _since(began))


def _since(began: float) -> float:
    return round((perf_counter() - began) * 1000, 1)
