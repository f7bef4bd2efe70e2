"""Turns between the requests that carry them: started, kept, found again, recorded.

The decision API's turns live in the state store from one request to the next; the gateway's are
over when its request is. Both are recorded the same way.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any

from routeradmin.engine.state import (
    Dispatch,
    FailureClass,
    Lease,
    LeaseNotFound,
    Outcome,
    ReportState,
)
from routeradmin.engine.turn import Turn
from routeradmin.engine.turn_book import TurnMoved
from routeradmin.engine.turn_state import HaltReason
from routeradmin.services import tracing, turn_log
from routeradmin.services.asking import request_of
from routeradmin.services.keys import Key
from routeradmin.services.messages import Select
from routeradmin.services.refusals import (
    RouteNotAllowed,
    TurnBusy,
    TurnHalted,
    TurnMismatch,
    TurnNotFound,
)
from routeradmin.services.runtime import Runtime
from routeradmin.services.tracing import Headers
from routeradmin.services.turn_record import as_record

if TYPE_CHECKING:
    from routeradmin.services.served import Served

# A lease that ran out says nothing of what became of the request; one that was given back without
# a report was not used.
_RAN_OUT = Outcome(FailureClass.TRANSIENT, Dispatch.UNKNOWN, message="its lease ran out")
_NOT_USED = Outcome(
    FailureClass.TRANSIENT, Dispatch.NOT_SENT, retriable=True, message="given back unused"
)
_FACTS = frozenset(Select.model_fields) - {
    "model",
    "turn",
    "secret",
    "explain",
    "text",
}


# Random per process, then counted.
_PROCESS = secrets.token_hex(10)
_numbers = count(1)


def new_id() -> str:
    """Unique, not secret: a turn is found by its own key only. A system call for each would cost
    as much as the choice."""
    return f"{_PROCESS}{next(_numbers):012x}"


async def load(runtime: Runtime, turn_id: str, key: Key, now: float) -> Turn:
    """A kept turn on the snapshot in force. Raises TurnNotFound, ModelNotFound."""
    kept = await runtime.store.load_turn(turn_id, now)
    if kept is None or kept.turn.request.key_id != key.uid:
        raise TurnNotFound(f"There is no turn {turn_id!r}; turns are kept one hour.")
    return Turn.of(kept, runtime.current.snapshot)


async def load_for(runtime: Runtime, message: Select, key: Key, now: float) -> Turn:
    """The turn that a select goes on with; facts that the body states replace the turn's own.

    Raises TurnNotFound, TurnMismatch, RouteNotAllowed, TurnHalted, TurnBusy, ModelNotFound.
    """
    turn = await load(runtime, message.turn or "", key, now)
    if turn.state.model != message.model:
        raise TurnMismatch(
            f"This turn is for the model {turn.state.model!r}; leave out 'turn' to start another."
        )
    # Asked every time: the key may have lost the route, or the name have gone to another one.
    if not key.may_use(turn.resolved.route.id):
        raise RouteNotAllowed(message.model)
    if turn.state.halt is not None:
        raise TurnHalted(turn.state.halt.value)
    await _close_last(runtime, turn, now)
    stated = message.model_fields_set & _FACTS
    if stated:
        asked = request_of(runtime.current.snapshot, message, key)
        turn.state.request = replace(
            turn.state.request, **{name: getattr(asked, name) for name in stated}
        )
    if message.secret:
        turn.state.request = replace(turn.state.request, needs_secret=True)
    return turn


async def _close_last(runtime: Runtime, turn: Turn, now: float) -> None:
    """An attempt without a report ends with its lease. Raises TurnBusy while it is open."""
    last = turn.state.attempts[-1] if turn.state.attempts else None
    if last is None or last.ended_at is not None:
        return
    try:
        phase = await runtime.store.phase(last.lease_id)
    except LeaseNotFound:  # leases are forgotten sooner than turns where there are very many
        phase = ReportState.EXPIRED
    if phase is ReportState.OPEN:
        raise TurnBusy(
            f"Attempt {last.n} of this turn is not reported yet: report or release its lease first."
        )
    unused = phase is ReportState.RELEASED
    replay = turn.policy.turn.replay_unanswered
    turn.tell(_NOT_USED if unused else replace(_RAN_OUT, retriable=replay), now)


def number_of(turn: Turn, lease: Lease) -> int | None:
    """The attempt that a lease was for."""
    return next((a.n for a in turn.state.attempts if a.lease_id == lease.id), None)


async def save(runtime: Runtime, turn: Turn, now: float) -> None:
    """Raises TurnMoved where another request was faster."""
    if not await runtime.store.save_turn(turn.state, now, turn.version):
        raise TurnMoved


def finished(runtime: Runtime, record: Mapping[str, Any]) -> None:
    """A turn is over: into the journal, the figures and, where it failed, the log. A request that
    nothing could serve is no turn and has no record."""
    if record["halt"]:
        runtime.journal.record(record)
    runtime.meters.turn(record["halt"] or "")
    turn_log.tell(record)


def answered(runtime: Runtime, served: Served) -> None:
    """``finished`` for a turn whose first attempt answered."""
    runtime.journal.record(served)
    runtime.meters.turn(HaltReason.SUCCEEDED)
    if turn_log.tells_of_success():
        turn_log.tell(served.as_record())


def record(runtime: Runtime, turn: Turn, *, request_id: str = "", headers: Headers = ()) -> None:
    """Send a finished turn of the decision API on its way to the journal and the tracer;
    ``headers`` are those of the request that ended it."""
    tracing.told(runtime.tracer, turn, request_id, headers)
    finished(runtime, as_record(turn, request_id=request_id))
