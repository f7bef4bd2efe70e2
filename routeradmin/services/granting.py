"""A slot for an attempt: reserved on the candidate and charged to the caller's key, or neither."""

from __future__ import annotations

from typing import NamedTuple

from routeradmin.engine.request import SelectRequest
from routeradmin.engine.state import Grant, Lease
from routeradmin.engine.turn import Try, Turn
from routeradmin.services.admission import Charge
from routeradmin.services.keys import Key
from routeradmin.services.runtime import Runtime


class Granted(NamedTuple):
    """``charge`` is what the attempt holds on its key; None for a key without limits."""

    lease: Lease
    charge: Charge | None


def grant_of(turn: Turn, step: Try, key: Key) -> Grant:
    """What the turn's next attempt takes."""
    return grant_for(turn.state.id, turn.state.request, turn.policy.id, step, key)


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
    )


async def take(runtime: Runtime, grant: Grant, key: Key, now: float) -> Granted | None:
    """None where another caller took the last slot.

    The key is charged before the store is waited for: whoever asks meanwhile is judged with it.
    """
    charge = runtime.limits.charge(key, grant.held_tokens, now)
    lease = None
    try:
        lease = await runtime.store.reserve(grant, now)
    finally:
        if lease is None and charge is not None:
            charge.undo()
    return None if lease is None else Granted(lease, charge)
