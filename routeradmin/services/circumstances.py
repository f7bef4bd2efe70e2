"""What else had a say in a choice than the route itself: intent, session, preferences, rule."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from random import Random
from typing import Any

from routeradmin.engine.eligibility import ruling
from routeradmin.engine.explain import Explanation, explain_route
from routeradmin.engine.snapshot import Snapshot
from routeradmin.engine.state import CandidateKey
from routeradmin.services import affinity
from routeradmin.services.affinity import Session
from routeradmin.services.asking import Asking, Headers
from routeradmin.services.runtime import Runtime

MOST_HEADER_CHARS = 1024  # kept with a turn
MOST_HEADERS = 64


def explanation_of(
    runtime: Runtime, asking: Asking, session: Session | None, now: float, rng: Random
) -> Explanation:
    """The explanation with everything that had a say. Draws from ``rng`` as select would."""
    request, resolved, decision = asking[:3]
    binding = runtime.affinity.bound(resolved, session, request.key_id, now)
    prefer = None if binding is None else binding.key
    found = explain_route(resolved, request, runtime.store, now, rng, prefer=prefer)
    told = None
    if session is not None and resolved.route.affinity_ttl_s > 0:
        told = affinity.explained(
            binding, session, resolved, request, runtime.store, now, found.winner
        )
    return replace(found, decision=decision, affinity=told)


def routing_of(runtime: Runtime, asking: Asking, now: float) -> dict[str, Any]:
    """What the turn's record says of the way to its route, before the first choice."""
    request, resolved, decision = asking[:3]
    found: dict[str, Any] = {}
    if decision is not None:
        found["intent"] = decision.as_json()
    if request.preferences is not None:
        told = request.preferences.as_json(resolved.route)
        found["preferences"] = _redacted(runtime, told)
    rule = ruling(resolved.route, request, now)
    if rule is not None:
        found["rule"] = {"id": rule.id, "only": list(rule.only)}
    return found


def _redacted(runtime: Runtime, value: Any) -> Any:
    """Words that came from outside, without any secret held here."""
    if isinstance(value, str):
        return runtime.redact(value)
    if isinstance(value, list):
        return [_redacted(runtime, one) for one in value]
    if isinstance(value, dict):
        return {name: _redacted(runtime, one) for name, one in value.items()}
    return value


def note_session(
    runtime: Runtime,
    asking: Asking,
    session: Session | None,
    now: float,
    chosen: CandidateKey | None,
    routing: dict[str, Any],
) -> None:
    """Add to a record what the session's binding had to do with the first choice."""
    request, resolved = asking[:2]
    if session is None or resolved.route.affinity_ttl_s <= 0 or "affinity" in routing:
        return
    binding = runtime.affinity.bound(resolved, session, request.key_id, now)
    routing["affinity"] = affinity.explained(
        binding, session, resolved, request, runtime.store, now, chosen
    )


def read_headers(snapshot: Snapshot, pairs: Iterable[tuple[bytes, bytes]]) -> Headers:
    """The request headers that some rule reads, and no others: they are kept with the turn."""
    wanted = snapshot.rule_headers
    if not wanted:
        return ()
    named = ((name.decode("latin-1"), value.decode("latin-1").strip()) for name, value in pairs)
    found = [(name, value[:MOST_HEADER_CHARS]) for name, value in named if name in wanted]
    return tuple(found[:MOST_HEADERS])
