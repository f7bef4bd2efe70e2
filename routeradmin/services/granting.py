"""What an attempt takes: a slot on the candidate, and its part of the caller's key."""

from __future__ import annotations

from routeradmin.engine.request import SelectRequest
from routeradmin.engine.state import Grant
from routeradmin.engine.turn import Halt, Try, Turn
from routeradmin.services.keys import Key
from routeradmin.services.runtime import Runtime


async def recounted(runtime: Runtime, turn: Turn, halt: Halt, now: float) -> bool:
    """Whether the turn, which had no attempt, is back at its beginning: limits refused it, and what
    other processes gave back a moment ago may not have been known here yet."""
    full = () if halt.refusal is None else halt.refusal.full
    if turn.attempts or not full or not await runtime.store.recount(full, now):
        return False
    turn.anew()
    return True


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
