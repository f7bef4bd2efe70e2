"""The decision API: select, report, renew, release, explain, simulate."""

from __future__ import annotations

from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, TypeVar

import orjson

from routeradmin.dataplane.auth import authorize
from routeradmin.dataplane.client import staying
from routeradmin.dataplane.errors import ApiError
from routeradmin.dataplane.http import parse, read_body
from routeradmin.services import explaining, postponing
from routeradmin.services.circumstances import read_headers
from routeradmin.services.keys import Key
from routeradmin.services.messages import Message, Release, Renew, Report, Select, Simulate
from routeradmin.services.metering import SELECT

if TYPE_CHECKING:
    from routeradmin.dataplane.app import Exchange

MOST_BODY_BYTES = 1024 * 1024
M = TypeVar("M", bound=Message)


async def select(exchange: Exchange) -> None:
    """A lease on the deployment to use now."""
    started = perf_counter()
    key = authorize(exchange.runtime, exchange.scope, "select")
    text = await read_body(exchange.receive, MOST_BODY_BYTES)
    message = permitted(parse(Select, text), key)
    headers = read_headers(exchange.runtime.current.snapshot, exchange.scope["headers"])
    selected = await postponing.select(
        exchange.runtime,
        message,
        key,
        exchange.request_id.decode(),
        headers,
        waiting=partial(staying, exchange),
    )
    answer = selected.as_json()
    took_s = perf_counter() - started - selected.waited_s
    exchange.runtime.meters.overhead[SELECT].observe(took_s)
    await exchange.reply(200, answer)


async def report(exchange: Exchange) -> None:
    """How the attempt ended; the answer says what to do next."""
    key = authorize(exchange.runtime, exchange.scope, "select")
    message = await body(exchange, Report)
    answer = await postponing.report(
        exchange.runtime,
        exchange.argument,
        message,
        key,
        exchange.request_id.decode(),
        exchange.scope["headers"],
    )
    await exchange.reply(200, orjson.dumps(answer))


async def renew(exchange: Exchange) -> None:
    key = authorize(exchange.runtime, exchange.scope, "select")
    message = await body(exchange, Renew)
    answer = await postponing.renew(exchange.runtime, exchange.argument, message, key)
    await exchange.reply(200, orjson.dumps(answer))


async def release(exchange: Exchange) -> None:
    key = authorize(exchange.runtime, exchange.scope, "select")
    message = await body(exchange, Release)
    answer = await postponing.release(exchange.runtime, exchange.argument, message, key)
    await exchange.reply(200, orjson.dumps(answer))


async def explain(exchange: Exchange) -> None:
    """Every candidate with every reason; reserves nothing."""
    key = authorize(exchange.runtime, exchange.scope, "select", "read")
    message = await body(exchange, Select)
    headers = read_headers(exchange.runtime.current.snapshot, exchange.scope["headers"])
    answer = await explaining.explain(exchange.runtime, message, key, headers)
    await exchange.reply(200, orjson.dumps(answer))


async def simulate(exchange: Exchange) -> None:
    """Shares over many draws on assumed states; reserves nothing."""
    key = authorize(exchange.runtime, exchange.scope, "select", "read")
    message = await body(exchange, Simulate)
    headers = read_headers(exchange.runtime.current.snapshot, exchange.scope["headers"])
    answer = await explaining.simulate(exchange.runtime, message, key, headers)
    await exchange.reply(200, orjson.dumps(answer))


def permitted(message: Select, key: Key) -> Select:
    """The message, unless it asks for a secret that the key may not see. Raises ApiError 403."""
    if message.secret and "secrets" not in key.scopes:
        raise ApiError(
            403,
            "insufficient_scope",
            f"The key '{key.name}' lacks the scope secrets; select without \"secret\": true.",
            param="secret",
        )
    return message


async def body(exchange: Exchange, model: type[M]) -> M:
    return parse(model, await read_body(exchange.receive, MOST_BODY_BYTES))
