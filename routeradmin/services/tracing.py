"""Traces of turns: what spans are called and what they say. Never prompts, answers or messages.

``Tracer`` and ``Span`` are the port to a tracing library; ``OFF`` is what runs without one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

from routeradmin.services.inference import gen_ai

if TYPE_CHECKING:
    from routeradmin.engine.state import Outcome
    from routeradmin.engine.turn import Try, Turn
    from routeradmin.engine.turn_state import Attempt
    from routeradmin.services.inference.asked import Asked

Facts = Mapping[str, str | int | float | bool | None]
Headers = Sequence[tuple[bytes, bytes]]
NOTHING: Mapping[str, str] = {}


class Span(Protocol):
    """Something that takes time. Facts of None are left out; moments are epoch seconds, None for
    now."""

    def child(self, name: str, facts: Facts, at: float | None = None) -> Span:
        """A call to another system inside this."""
        ...

    def headers(self) -> Mapping[str, str]:
        """What carries the trace on to that system."""
        ...

    def end(self, facts: Facts, error: str | None = None, at: float | None = None) -> None:
        """``error`` is the kind of failure, None for none."""
        ...


class Tracer(Protocol):
    def start(self, name: str, facts: Facts, headers: Headers, at: float | None = None) -> Span:
        """A request being served; its headers may continue a trace."""
        ...

    def close(self) -> None:
        """Send what waits; may take seconds."""
        ...


class _Off:
    """Tracer and span in one, of which nothing comes."""

    def start(self, name: str, facts: Facts, headers: Headers, at: float | None = None) -> Span:
        return self

    def child(self, name: str, facts: Facts, at: float | None = None) -> Span:
        return self

    def headers(self) -> Mapping[str, str]:
        return NOTHING

    def end(self, facts: Facts, error: str | None = None, at: float | None = None) -> None:
        pass

    def close(self) -> None:
        pass


OFF: Tracer = _Off()


def turn_started(tracer: Tracer, turn: Turn, asked: Asked, request_id: str) -> Span:
    if tracer is OFF:
        return OFF_SPAN
    return tracer.start(
        f"turn {turn.state.route_id}",
        {
            "gen_ai.operation.name": gen_ai.operation_of(asked.operation),
            "gen_ai.request.model": turn.state.model,
            "routeradmin.turn.id": turn.state.id,
            "routeradmin.request.id": request_id or None,
            "routeradmin.route": turn.state.route_id,
            "routeradmin.revision": turn.resolved.snapshot.revision,
            "routeradmin.stream": asked.facts.stream,
        },
        asked.headers,
    )


def turn_ended(span: Span, turn: Turn, overhead_ms: float | None, at: float | None = None) -> None:
    if span is OFF_SPAN:
        return
    halt = turn.state.halt.value if turn.state.halt is not None else "refused"
    facts: Facts = {
        "routeradmin.halt": halt,
        "routeradmin.attempts": len(turn.state.attempts),
        "routeradmin.overhead_ms": None if overhead_ms is None else round(overhead_ms, 3),
    }
    span.end(facts, None if halt in ("succeeded", "cancelled") else halt, at)


def attempt_started(span: Span, step: Try, asked: Asked, number: int) -> Span:
    if span is OFF_SPAN:
        return span
    candidate = step.candidate
    deployment, found = candidate.deployment, asked.facts
    address = urlsplit(deployment.endpoint.base_url)
    port = address.port or (443 if address.scheme == "https" else 80)
    operation = gen_ai.operation_of(asked.operation)
    return span.child(
        f"{operation} {candidate.upstream_name}",
        {
            "gen_ai.operation.name": operation,
            "gen_ai.provider.name": deployment.provider.id,
            "gen_ai.request.model": candidate.upstream_name,
            "gen_ai.request.max_tokens": found.max_output_tokens,
            "gen_ai.request.temperature": found.temperature,
            "gen_ai.request.top_p": found.top_p,
            "gen_ai.request.stream": found.stream or None,
            "server.address": address.hostname,
            "server.port": port,
            "routeradmin.attempt": number,
            "routeradmin.deployment": deployment.id,
            "routeradmin.credential": candidate.credential.id,
            "routeradmin.route": step.resolved.route.id,
            "routeradmin.tier": step.tier,
        },
    )


def attempt_ended(span: Span, outcome: Outcome) -> None:
    if span is OFF_SPAN:
        return
    facts = {
        "http.response.status_code": outcome.status,
        "gen_ai.usage.input_tokens": outcome.input_tokens,
        "gen_ai.usage.output_tokens": outcome.output_tokens,
        "gen_ai.response.time_to_first_chunk": _seconds(outcome.ttft_ms),
        "routeradmin.dispatch": outcome.dispatch.value,
        "routeradmin.first_token_ms": outcome.ttft_ms,
    }
    span.end(facts, None if outcome.failure is None else outcome.failure.value)


def told(tracer: Tracer, turn: Turn, request_id: str, headers: Headers) -> None:
    """A turn of the decision API that is over: its caller made the calls and told how they went.

    ``headers`` are those of the request that ended it, whose trace it becomes part of.
    """
    if tracer is OFF:
        return
    state = turn.state
    span = tracer.start(
        f"turn {state.route_id}",
        {
            "gen_ai.request.model": state.model,
            "routeradmin.turn.id": state.id,
            "routeradmin.request.id": request_id or None,
            "routeradmin.route": state.route_id,
            "routeradmin.revision": turn.resolved.snapshot.revision,
        },
        headers,
        state.started_at,
    )
    for attempt in state.attempts:
        _attempt_told(span, turn, attempt)
    turn_ended(span, turn, None, state.ended_at)


def _attempt_told(span: Span, turn: Turn, attempt: Attempt) -> None:
    deployment = turn.resolved.snapshot.deployments.get(attempt.key.deployment)
    upstream = deployment.model.upstream_name if deployment is not None else None
    protocol = attempt.provenance.get("protocol")
    facts: Facts = {
        "gen_ai.operation.name": protocol and gen_ai.operation_of(protocol),
        "gen_ai.provider.name": attempt.provenance.get("provider"),
        "gen_ai.request.model": attempt.key.matched or upstream,
        "gen_ai.usage.input_tokens": attempt.input_tokens,
        "gen_ai.usage.output_tokens": attempt.output_tokens,
        "gen_ai.response.time_to_first_chunk": _seconds(attempt.ttft_ms),
        "http.response.status_code": attempt.status,
        "routeradmin.attempt": attempt.n,
        "routeradmin.deployment": attempt.key.deployment,
        "routeradmin.credential": attempt.key.credential,
        "routeradmin.route": attempt.route,
        "routeradmin.tier": attempt.tier,
        "routeradmin.dispatch": attempt.dispatch,
        "routeradmin.first_token_ms": attempt.ttft_ms,
    }
    name = f"attempt {attempt.key.deployment}"
    span.child(name, facts, attempt.started_at).end({}, attempt.cls, attempt.ended_at)


def _seconds(ms: float | None) -> float | None:
    return None if ms is None else ms / 1000


OFF_SPAN: Span = OFF.start("", {}, ())
