"""The inference API: a request is read, carried out as a turn, and answered in its protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

from routeradmin.dataplane import dialects, halts
from routeradmin.dataplane.auth import authorize
from routeradmin.dataplane.client import Client, turn_headers
from routeradmin.dataplane.errors import ApiError
from routeradmin.dataplane.http import Header, read_body
from routeradmin.engine.outcome import Ending
from routeradmin.engine.turn_state import HaltReason
from routeradmin.services.inference import asked as reading
from routeradmin.services.inference import facts
from routeradmin.services.inference.asked import Asked
from routeradmin.services.inference.bodies import BadBody, with_member
from routeradmin.services.inference.facts import Invalid
from routeradmin.services.inference.interrupt import Interrupt
from routeradmin.services.inference.turning import Turning, asking_for
from routeradmin.services.inference.whole import COUNT_TOKENS

if TYPE_CHECKING:
    from routeradmin.dataplane.app import Exchange

MOST_BODY_BYTES = 50 * 1024 * 1024


async def chat_completions(exchange: Exchange) -> None:
    await carry_out(exchange, facts.CHAT)


async def completions(exchange: Exchange) -> None:
    await carry_out(exchange, facts.COMPLETIONS)


async def embeddings(exchange: Exchange) -> None:
    await carry_out(exchange, facts.EMBEDDINGS)


async def responses(exchange: Exchange) -> None:
    await carry_out(exchange, facts.RESPONSES)


async def messages(exchange: Exchange) -> None:
    await carry_out(exchange, facts.MESSAGES)


async def count_tokens(exchange: Exchange) -> None:
    await carry_out(exchange, facts.MESSAGES, COUNT_TOKENS)


async def carry_out(exchange: Exchange, api: str, operation: str | None = None) -> None:
    """One request, from its body to its answer."""
    runtime = exchange.runtime
    key = authorize(runtime, exchange.scope, "inference")
    asked = await read(exchange, api, operation or api)
    interrupt = Interrupt()
    with runtime.meters.under_way(), Client(exchange, interrupt, key) as client:
        asking = await asking_for(runtime, asked, key)
        turning = Turning(
            runtime, asked, asking, key, client, interrupt, exchange.request_id.decode()
        )
        client.turning = turning
        halt = await turning.run()
        if halt.halt is HaltReason.CANCELLED and interrupt.reason is not Ending.STOPPED:
            return  # nobody is there to be answered
        if client.began:
            await client.end(end_of_stream(exchange, turning))
        else:
            await answer(exchange, turning, client.limits())


async def read(exchange: Exchange, api: str, operation: str) -> Asked:
    """Raises ApiError 400 for a body or header that routing cannot go by, 413 for a large body."""
    raw = await read_body(exchange.receive, MOST_BODY_BYTES)
    try:
        return reading.read(api, operation, raw, exchange.scope["headers"])
    except BadBody as problem:
        raise ApiError(400, "invalid_json", str(problem)) from None
    except Invalid as problem:
        raise ApiError(400, "invalid_request", str(problem), param=problem.param) from None


def end_of_stream(exchange: Exchange, turning: Turning) -> bytes:
    asked = turning.asked
    trace = turning.record if asked.wishes.trace else None
    if turning.halt.halt is HaltReason.SUCCEEDED:
        last = turning.attempted.last if turning.attempted is not None else None
        return dialects.good_end(asked.api, last, trace)
    problem = halts.problem_of(exchange.runtime, turning)
    return dialects.error_event(problem, asked.api, trace)


async def answer(exchange: Exchange, turning: Turning, limits: list[Header]) -> None:
    """A whole answer, or the refusal of a request of which nothing was sent yet."""
    asked, halt = turning.asked, turning.halt.halt
    headers = [
        *turn_headers(turning),
        (b"x-routeradmin-overhead-ms", b"%.3f" % turning.overhead_ms),
        *limits,
    ]
    if halt is not None:
        headers.append((b"x-routeradmin-halt", halt.value.encode()))
    whole = turning.attempted.whole if turning.attempted is not None else None
    trace = turning.record if asked.wishes.trace else None
    if halt is HaltReason.SUCCEEDED and whole is not None:
        body = whole.body if trace is None else with_member(whole.body, dialects.TRACE, trace)
        await exchange.reply(whole.status, body, tuple(headers))
        return
    problem = halts.problem_of(exchange.runtime, turning)
    body = dialects.error_body(problem, anthropic=asked.api == facts.MESSAGES, trace=trace)
    await exchange.reply(problem.status, body, (*headers, *problem.headers()))
