"""Select: a lease on the deployment to use now, as one step of a turn."""

from __future__ import annotations

from random import Random
from typing import Any

from routeradmin.engine.explain import explain_route
from routeradmin.engine.refusal import refuse
from routeradmin.engine.request import SelectRequest
from routeradmin.engine.resolve import Resolved
from routeradmin.engine.select import Pick, pick
from routeradmin.engine.state import Grant, Lease
from routeradmin.engine.turn import Halt, Try, Turn, Wait
from routeradmin.engine.turn_state import HaltReason, Opening
from routeradmin.services import turns
from routeradmin.services.asking import request_of, resolve_allowed
from routeradmin.services.keys import Key
from routeradmin.services.messages import Select
from routeradmin.services.refusals import LimitRefused, Refused, TurnHalted, TurnWaiting
from routeradmin.services.runtime import Runtime
from routeradmin.services.selected import Selected


async def select(runtime: Runtime, message: Select, key: Key, request_id: str = "") -> Selected:
    """The lease, and what its answer shows.

    Raises ModelNotFound, RouteNotAllowed, Refused, LimitRefused; with a turn also TurnNotFound,
    TurnMismatch, TurnHalted, TurnWaiting, TurnBusy.
    """
    now = runtime.clock()
    runtime.store.expire(now)
    if message.turn is not None:
        turn = await turns.load_for(runtime, message, key, now)
    else:
        request = request_of(message, key)
        resolved = resolve_allowed(runtime, request, key, now)
        if not message.explain:
            selected = await first(runtime, message, request, resolved, key, now)
            if selected is not None:
                return selected
        turn = Turn.start(turns.new_id(), resolved, request, now)
    draws = runtime.rng.getstate() if message.explain else None
    step, lease = await take(runtime, turn, key, request_id)
    explanation = None if draws is None else explained(runtime, turn, step, draws)
    attempt = len(turn.state.attempts)
    return Selected(
        runtime, message, lease, step.candidate, step.resolved, turn.state.id, attempt, explanation
    )


async def first(
    runtime: Runtime,
    message: Select,
    request: SelectRequest,
    resolved: Resolved,
    key: Key,
    now: float,
) -> Selected | None:
    """The first attempt where nothing stands in its way, which is nearly always: the same choice
    that a turn would make, with the turn itself left to be made when it is needed.

    None: something does; the turn has the rules for it.
    """
    if runtime.limits.refusal(key, request.estimate, now) is not None:
        return None
    found = pick(resolved, request, runtime.store, now, runtime.rng)
    if not isinstance(found, Pick) or found.least_bad:
        return None
    candidate, route = found.candidate, resolved.route
    grant = Grant(
        candidate,
        key.uid,
        request.lease_ttl_s,
        request.estimate,
        route.id,
        route.policy.id,
        None,
        found.cursor,
        found.ring,
    )
    lease = await runtime.store.reserve(grant, now)
    if lease is None:
        return None
    candidate = grant.granted(lease)
    opening = Opening(
        lease.id, request.model, route.id, request, candidate.key, found.tier, lease.id, now
    )
    await runtime.store.save_turn(opening, now)
    charge(runtime, key, lease)
    return Selected(runtime, message, lease, candidate, resolved, lease.id, 1, None)


async def take(runtime: Runtime, turn: Turn, key: Key, request_id: str) -> tuple[Try, Lease]:
    """Go on with the turn until a slot is taken. Waits only where the route says to.

    Raises Refused, LimitRefused, TurnHalted, TurnWaiting.
    """
    while True:
        now = runtime.clock()
        limit = runtime.limits.refusal(key, turn.state.request.estimate, now)
        step = turn.next(runtime.store, now, runtime.rng, admit=lambda _: limit is None)  # noqa: B023
        if isinstance(step, Halt) and step.halt is HaltReason.LIMIT_REFUSED and limit is not None:
            if turn.state.attempts:
                await turns.save(runtime, turn, now)
                turns.record(runtime, turn, request_id=request_id)
            raise LimitRefused(limit.message, limit.retry_after_s)
        if isinstance(step, Try):
            lease = await reserve(runtime, turn, step, key, now)
            if lease is None:
                turn.lost(step.candidate.key)
                continue
            if step.ring is not None:
                step = step.on(step.ring.named(lease.key))
            turn.begin(step, now, lease.id)
            charge(runtime, key, lease)
            await turns.save(runtime, turn, now)
            return step, lease
        if isinstance(step, Halt):
            await end(runtime, turn, step, now, request_id)
        elif step.kind == "round":
            await turns.save(runtime, turn, now)
            raise TurnWaiting(step.until - now)
        else:
            await wait(runtime, step, now)


async def reserve(runtime: Runtime, turn: Turn, step: Try, key: Key, now: float) -> Lease | None:
    request = turn.state.request
    grant = Grant(
        step.candidate,
        key.uid,
        request.lease_ttl_s,
        request.estimate,
        step.resolved.route.id,
        turn.policy.id,
        turn.state.id,
        step.cursor,
        step.ring,
    )
    return await runtime.store.reserve(grant, now)


def charge(runtime: Runtime, key: Key, lease: Lease) -> None:
    """Hold on the key what the attempt may use, until its lease is over."""
    held = runtime.limits.charge(key, lease.held_tokens, lease.granted_at)
    if held is not None:
        runtime.limits.keep(lease.id, held, lease.expires_at)


async def wait(runtime: Runtime, step: Wait, now: float) -> None:
    """Sit out a wait for recovery; the caller's request stays open meanwhile."""
    await runtime.sleep(max(0.0, step.until - now))
    runtime.store.expire(runtime.clock())


async def end(runtime: Runtime, turn: Turn, halt: Halt, now: float, request_id: str) -> None:
    """Always raises: Refused for a turn without attempts, TurnHalted for one with some."""
    if not turn.state.attempts:
        refusal = halt.refusal or refuse(turn.resolved, turn.state.request, runtime.store, now)
        raise Refused(refusal)
    await turns.save(runtime, turn, now)
    turns.record(runtime, turn, request_id=request_id)
    raise TurnHalted(halt.halt.value if halt.halt else "exhausted")


def explained(runtime: Runtime, turn: Turn, step: Try, draws: tuple[Any, ...]) -> dict[str, Any]:
    """The explanation of what was chosen; a turn may have left its first choices behind."""
    rng = Random()
    rng.setstate(draws)
    request, now = turn.state.request, runtime.clock()
    found = explain_route(step.resolved, request, runtime.store, now, rng).as_json()
    candidate = step.candidate
    return {
        **found,
        "selected_target_id": candidate.target.id,
        "selected_credential_id": candidate.credential.id,
    }
