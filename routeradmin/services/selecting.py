"""Select: a lease on the deployment to use now, as one step of a turn."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from random import Random
from time import perf_counter
from typing import Any

from routeradmin.engine.explain import explain_route
from routeradmin.engine.key_use import KeyRefused
from routeradmin.engine.refusal import refuse
from routeradmin.engine.request import SelectRequest
from routeradmin.engine.resolve import Resolved
from routeradmin.engine.select import Pick, pick
from routeradmin.engine.state import Grant, Lease
from routeradmin.engine.turn import Halt, Try, Turn, Wait
from routeradmin.engine.turn_book import TurnMoved
from routeradmin.engine.turn_state import HaltReason, Opening
from routeradmin.services import admission, affinity, circumstances, granting, turns
from routeradmin.services.affinity import Session
from routeradmin.services.asking import (
    Asking,
    Headers,
    asking_of,
    needs_words,
    request_of,
    resolve_allowed,
    words_of,
)
from routeradmin.services.keys import Key
from routeradmin.services.messages import Select
from routeradmin.services.refusals import (
    LimitRefused,
    Refused,
    TurnBusy,
    TurnHalted,
    TurnWaiting,
)
from routeradmin.services.runtime import Runtime
from routeradmin.services.selected import Selected

# Around a wait: ends it early, by raising, where nobody is there any more to take the lease.
Waiting = Callable[[], AbstractContextManager[None]]

MOST_LOOKS = 8  # at a turn that others go on with

TOLD = ("intent", "affinity")  # of a turn's routing, beside what an explanation finds itself


async def select(
    runtime: Runtime,
    message: Select,
    key: Key,
    request_id: str = "",
    headers: Headers = (),
    *,
    waiting: Waiting = nullcontext,
) -> Selected:
    """The lease, and what its answer shows. ``headers`` are the caller's that some rule reads.

    Raises ModelNotFound, RouteNotAllowed, TooManyExcluded, Refused, LimitRefused; with a turn also
    TurnNotFound, TurnMismatch, TurnHalted, TurnWaiting, TurnBusy.
    """
    for _ in range(MOST_LOOKS):
        with suppress(TurnMoved):
            return await _select(runtime, message, key, request_id, headers, waiting)
    raise TurnBusy("Other requests are going on with this turn; come back when they are done.")


async def _select(
    runtime: Runtime,
    message: Select,
    key: Key,
    request_id: str,
    headers: Headers,
    waiting: Waiting,
) -> Selected:
    """Raises TurnMoved where another request went on with the turn meanwhile."""
    now = runtime.clock()
    runtime.store.expire(now)
    if message.turn is not None:
        turn = await turns.load_for(runtime, message, key, now)
    else:
        snapshot = runtime.current.snapshot
        request = request_of(snapshot, message, key, headers)
        if snapshot.has_intents and needs_words(snapshot, message.model):
            asking = await asking_of(runtime, request, key, now, words_of(message))
        else:
            resolved = resolve_allowed(runtime, request, key, now)
            if is_plain(message, resolved):
                selected = await first(runtime, message, request, resolved, key, now)
                if selected is not None:
                    return selected
            asking = Asking(request, resolved)
        routing = circumstances.routing_of(runtime, asking, now)
        turn = Turn.start(turns.new_id(), asking.resolved, asking.request, now, routing=routing)
    session = affinity.named(turn.state.request.session)
    await runtime.affinity.recall(runtime.store, turn.resolved, session, key.uid, now)
    step, lease, explanation, waited_s = await take(
        runtime, turn, key, request_id, session, explain=message.explain, waiting=waiting
    )
    attempt = len(turn.state.attempts)
    return Selected(
        runtime,
        message,
        lease,
        step.candidate,
        step.resolved,
        turn.state.id,
        attempt,
        explanation,
        waited_s,
    )


def is_plain(message: Select, resolved: Resolved) -> bool:
    """Whether there is nothing to tell of the choice beyond itself."""
    if message.explain or message.preferences is not None:
        return False
    return message.session is None or resolved.route.affinity_ttl_s <= 0


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

    None: something does; the turn has the rules for it. Raises LimitRefused.
    """
    found = pick(resolved, request, runtime.store, now, runtime.rng)
    if not isinstance(found, Pick) or found.least_bad:
        return None
    if found.note:
        return await noted(runtime, message, request, resolved, key, found)
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
        Opening("", request.model, route.id, request, candidate.key, found.tier, "", now),
        allowance=key.allowance,
    )
    try:
        lease = await runtime.store.reserve(grant, now)
    except KeyRefused as refused:
        raise limited(key, refused, now) from None
    if lease is None:
        return None
    candidate = grant.granted(lease)
    return Selected(runtime, message, lease, candidate, resolved, lease.id, 1, None)


async def noted(
    runtime: Runtime,
    message: Select,
    request: SelectRequest,
    resolved: Resolved,
    key: Key,
    found: Pick,
) -> Selected | None:
    """A first attempt whose choice has a note: the turn is made at once, for its record has it."""
    now = runtime.clock()
    turn = Turn.start(turns.new_id(), resolved, request, now)
    step = Try(found.candidate, found.cursor, resolved, found.tier, False, found.note)
    try:
        lease = await begun(runtime, turn, step, key, None, now)
    except KeyRefused as refused:
        raise limited(key, refused, now) from None
    if lease is None:
        return None
    return Selected(runtime, message, lease, found.candidate, resolved, turn.state.id, 1, None)


async def take(
    runtime: Runtime,
    turn: Turn,
    key: Key,
    request_id: str,
    session: Session | None = None,
    *,
    explain: bool = False,
    waiting: Waiting = nullcontext,
) -> tuple[Try, Lease, dict[str, Any] | None, float]:
    """Go on with the turn until a slot is taken. Waits only where the route says to; the seconds
    it did are the last member.

    ``explain`` adds the explanation of the choice, as everything stood before the slot was taken.

    Raises Refused, LimitRefused, TurnHalted, TurnWaiting, TurnMoved.
    """
    waited_s, is_certain = 0.0, False
    while True:
        now = runtime.clock()
        draws = runtime.rng.getstate() if explain else None
        step = turn.next(
            runtime.store,
            now,
            runtime.rng,
            prefer=runtime.affinity.preferred(turn.resolved, session, key.uid, now),
        )
        if isinstance(step, Try):
            note(runtime, turn, step, session, now)
            told = None if draws is None else explained(runtime, turn, step, draws, now)
            try:
                lease = await begun(runtime, turn, step, key, session, now)
            except KeyRefused as refused:
                await end_at_limit(runtime, turn, now, request_id)
                raise limited(key, refused, now) from None
            if lease is not None:
                step = as_granted(step, lease)
                if told is not None:
                    told |= chosen_in(step)
                return step, lease, told, waited_s
        elif isinstance(step, Halt):
            if is_certain or not await granting.recounted(runtime, turn, step, now):
                await end(runtime, turn, step, now, request_id)
            is_certain = True
        elif step.kind == "round":
            await turns.save(runtime, turn, now)
            raise TurnWaiting(step.until - now)
        else:
            with waiting():
                waited_s += await wait(runtime, step, now)


def note(runtime: Runtime, turn: Turn, step: Try, session: Session | None, now: float) -> None:
    """What a session's binding had to do with the choice, for the turn's record."""
    asking = Asking(turn.state.request, turn.resolved)
    chosen, routing = step.candidate.key, turn.state.routing
    circumstances.note_session(runtime, asking, session, now, chosen, routing)


async def begun(
    runtime: Runtime, turn: Turn, step: Try, key: Key, session: Session | None, now: float
) -> Lease | None:
    """The attempt's lease, to which the session is bound; None where the slot went to another.

    Raises TurnMoved, KeyRefused.
    """
    lease = await runtime.store.reserve(granting.grant_of(turn, step, key, kept=True), now)
    if lease is None:
        turn.lost(step.candidate.key)
        if not turn.state.attempts:
            turn.state.routing.pop("affinity", None)  # told of a choice that did not come about
        return None
    step = as_granted(step, lease)
    key_id = turn.state.request.key_id
    runtime.affinity.served(runtime.store, turn.resolved, session, key_id, lease.key, now)
    turn.begin(step, now, lease.id)
    # Other processes know of the attempt by its grant; this tells them the rest.
    runtime.store.note_turn(turn.state, now, turn.version)
    return lease


async def end_at_limit(runtime: Runtime, turn: Turn, now: float, request_id: str) -> None:
    """The key's own limits end the turn. Raises TurnMoved."""
    turn.stop(HaltReason.LIMIT_REFUSED, now)
    if turn.state.attempts:
        await turns.save(runtime, turn, now)
        turns.record(runtime, turn, request_id=request_id)


def limited(key: Key, refused: KeyRefused, now: float) -> LimitRefused:
    found = admission.refusal(key, refused.limit, now)
    return LimitRefused(found.message, found.retry_after_s)


async def wait(runtime: Runtime, step: Wait, now: float) -> float:
    """Sit out a wait for recovery; the caller's request stays open meanwhile. How long it was."""
    waiting = perf_counter()
    await runtime.sleep(max(0.0, step.until - now))
    waited_s = perf_counter() - waiting
    runtime.meters.queue.observe(waited_s)
    runtime.store.expire(runtime.clock())
    return waited_s


async def end(runtime: Runtime, turn: Turn, halt: Halt, now: float, request_id: str) -> None:
    """Always raises: Refused for a turn without attempts, TurnHalted for one with some; TurnMoved
    where another request ended it, or went on with it."""
    if not turn.state.attempts:
        refusal = halt.refusal or refuse(turn.resolved, turn.state.request, runtime.store, now)
        raise Refused(refusal)
    await turns.save(runtime, turn, now)
    turns.record(runtime, turn, request_id=request_id)
    raise TurnHalted(halt.halt.value if halt.halt else "exhausted")


def explained(
    runtime: Runtime, turn: Turn, step: Try, draws: tuple[Any, ...], now: float
) -> dict[str, Any]:
    """The explanation of what was chosen; a turn may have left its first choices behind."""
    rng = Random()
    rng.setstate(draws)
    found = explain_route(step.resolved, turn.state.request, runtime.store, now, rng).as_json()
    return {
        **found,
        **chosen_in(step),
        **{name: turn.state.routing[name] for name in TOLD if name in turn.state.routing},
    }


def chosen_in(step: Try) -> dict[str, str]:
    candidate = step.candidate
    return {
        "selected_target_id": candidate.target.id,
        "selected_credential_id": candidate.credential.id,
    }


def as_granted(step: Try, lease: Lease) -> Try:
    """Where processes take turns, the lease is on the candidate whose turn it came to be."""
    return step if step.ring is None else step.on(step.ring.named(lease.key))
