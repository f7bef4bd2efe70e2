"""What an attempt takes: a slot on the candidate, and its part of the caller's key."""

from __future__ import annotations

from routeradmin.engine.refusal import Refusal
from routeradmin.engine.request import SelectRequest
from routeradmin.engine.state import Grant
from routeradmin.engine.turn import Try, Turn
from routeradmin.services.keys import Key
from routeradmin.services.runtime import Runtime


async def recounted(runtime: Runtime, refusal: Refusal, now: float) -> bool:
    """Whether it is worth deciding again: limits refused, and they were looked up just now. What
    another process gave back a moment ago may not have been known here yet."""
    return bool(refusal.full) and await runtime.store.recount(refusal.full, now)


def grant_of(turn: Turn, step: Try, key: Key, *, kept: bool = False) -> Grant:
    """What the turn's next attempt takes. ``kept``: the turn outlives this request."""
    state = turn.state
    grant = grant_for(state.id, state.request, turn.policy.id, step, key)
    if not kept:
        return grant
    return grant._replace(keep=None if turn.version else state, turn_version=turn.version)


def grant_for(turn_id: str, request: SelectRequest, policy_id: str, step: Try, key: Key) -> Grant:
    """``grant_of`` a turn whose machine is not set up yet."""
    return Grant(
        step.candidate,
        key.uid,
        request.lease_ttl_s,
        request.estimate,
        step.resolved.route.id,
        policy_id,
        turn_id,
        step.cursor,
        step.ring,
        allowance=key.allowance,
    )
