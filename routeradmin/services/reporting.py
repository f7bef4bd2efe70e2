"""Report, renew, release: what becomes of a lease, and what its turn does next."""

from __future__ import annotations

from typing import Any

from routeradmin.engine.describe import utc_text
from routeradmin.engine.errors import ModelNotFound
from routeradmin.engine.policy import DEFAULT_POLICY, Policy
from routeradmin.engine.report import ReportFacts, from_report
from routeradmin.engine.state import (
    Cooldown,
    Dispatch,
    FailureClass,
    Lease,
    LeaseFenced,
    LeaseNotFound,
    Outcome,
    ReportState,
    Settlement,
)
from routeradmin.engine.turn import Halt, Turn
from routeradmin.engine.turn_book import Kept, Told
from routeradmin.engine.turn_steps import advice
from routeradmin.services import turns
from routeradmin.services.answers import KEPT_CHARS
from routeradmin.services.keys import Key
from routeradmin.services.messages import Release, Renew, Report
from routeradmin.services.refusals import TurnNotFound
from routeradmin.services.runtime import Runtime
from routeradmin.services.tracing import Headers
from routeradmin.services.turn_record import as_record

# For a turn that is gone: its hour is over, or its route or candidate left the catalog.
STOP = {"action": "stop", "wait_ms": 0, "halt": "exhausted"}
# The turn's newest attempt is another than the reported one, and its outcome decides.
UNDER_WAY = {"action": "next", "wait_ms": 0, "halt": None}
DONE = {"action": "done", "wait_ms": 0, "halt": "succeeded"}


class LeaseExpired(LeaseFenced):
    """The report came too late for its slot; it still counted once. ``answer`` has ``next``."""

    def __init__(self, answer: dict[str, Any]) -> None:
        super().__init__(
            "This lease expired before its report: its slot was given back. 'next' says how the "
            "turn goes on; renew leases that live longer."
        )
        self.answer = answer


async def report(
    runtime: Runtime,
    lease_id: str,
    message: Report,
    key: Key,
    request_id: str = "",
    headers: Headers = (),
) -> dict[str, Any]:
    """The answer of a report; a repeated one gets the first answer. ``headers`` may name the trace
    that the turn is part of.

    Raises LeaseNotFound, LeaseFenced (wrong generation), LeaseExpired.
    """
    now = runtime.clock()
    runtime.store.expire(now)
    lease = await owned(runtime, lease_id, key)
    policy = policy_of(runtime, lease)
    outcome = outcome_of(runtime, message, policy, now)
    telling = Telling(runtime, key, outcome, now)
    settlement = await runtime.store.settle(
        lease_id, outcome, policy, now, message.generation, telling
    )
    if settlement.is_first:
        runtime.meters.attempt(lease.key.deployment, outcome)
        if telling.ended is not None:
            turns.record(runtime, telling.ended, request_id=request_id, headers=headers)
    elif runtime.peers is not None:
        await _record_again(runtime, settlement, key, request_id, now)
    assert settlement.answer is not None  # noqa: S101
    return given(settlement.answer)


async def _record_again(
    runtime: Runtime, settlement: Settlement, key: Key, request_id: str, now: float
) -> None:
    """What a repeated report's turn came to: the process that ended it may have been killed before
    it wrote that down. What is in the database already stays as it is."""
    turn_id, answer = settlement.lease.turn_id, settlement.answer
    if turn_id is None or answer is None or answer["next"]["halt"] is None:
        return
    try:
        turn = await turns.load(runtime, turn_id, key, now)
    except (TurnNotFound, ModelNotFound):
        return
    if turn.state.halt is not None:
        runtime.journal.record(as_record(turn, request_id=request_id))


def given(answer: dict[str, Any]) -> dict[str, Any]:
    """The answer as it was given first. Raises LeaseExpired if it was given too late."""
    if answer.get("expired"):
        raise LeaseExpired(answer)
    return answer


async def owned(runtime: Runtime, lease_id: str, key: Key) -> Lease:
    """The lease, if this key took it. Raises LeaseNotFound."""
    lease = await runtime.store.lease(lease_id)
    if lease.owner != key.uid:
        raise LeaseNotFound(f"No lease {lease_id!r}: it was never issued to this key.")
    return lease


def policy_of(runtime: Runtime, lease: Lease) -> Policy:
    """The policy of the turn's route, as it is now; the default where it is gone."""
    return runtime.current.snapshot.policies.get(lease.policy_id, DEFAULT_POLICY)


def outcome_of(runtime: Runtime, message: Report, policy: Policy, now: float) -> Outcome:
    facts = ReportFacts(
        outcome=message.outcome,
        status=message.status,
        error_class=FailureClass(message.error_class) if message.error_class else None,
        dispatch=Dispatch(message.dispatch) if message.dispatch else None,
        retry_after=message.retry_after,
        visible_output=message.visible_output,
        message=runtime.redact(message.message or "")[:KEPT_CHARS],
        latency_ms=message.latency_ms,
        ttft_ms=message.ttft_ms,
        input_tokens=message.input_tokens,
        output_tokens=message.output_tokens,
    )
    return from_report(
        facts, policy.classify, now=now, replay_unanswered=policy.turn.replay_unanswered
    )


class Telling:
    """Decides what a report's turn does next. ``ended`` is the turn if this report ended it."""

    def __init__(self, runtime: Runtime, key: Key, outcome: Outcome, now: float) -> None:
        self._runtime = runtime
        self._key = key
        self._outcome = outcome
        self._now = now
        self.ended: Turn | None = None

    def __call__(self, settlement: Settlement, kept: Kept | None) -> Told:
        self.ended = None
        turn = self._turn(kept)
        answer = {
            "released": settlement.state is ReportState.OPEN,
            "cooldown": cooldown_json(settlement, self._now),
            "next": self._end() if turn is None else self._go_on(turn, settlement),
        }
        if settlement.state is ReportState.EXPIRED:
            answer["expired"] = True
        return Told(answer, None if turn is None else turn.state)

    def _turn(self, kept: Kept | None) -> Turn | None:
        """None where it is gone: its hour is over, or its route or candidate left the catalog."""
        if kept is None or kept.turn.request.key_id != self._key.uid:
            return None
        try:
            turn = Turn.of(kept, self._runtime.current.snapshot)
        except ModelNotFound:
            return None
        return turn if turn.state.attempts else None

    def _go_on(self, turn: Turn, settlement: Settlement) -> dict[str, Any]:
        now, was_over = self._now, turn.state.halt is not None
        number = turns.number_of(turn, settlement.lease)
        if settlement.state is not ReportState.REPEATED and number is not None:
            turn.tell(self._outcome, now, attempt=number, settlement=settlement)
        if turn.state.halt is None and turn.state.attempts[-1].ended_at is None:
            return UNDER_WAY
        step = turn.next(self._runtime.store, now, self._runtime.rng)
        self.ended = turn if isinstance(step, Halt) and not was_over else None
        return advice(step, now)

    def _end(self) -> dict[str, Any]:
        return DONE if self._outcome.failure is None else STOP


def cooldown_json(settlement: Settlement, now: float) -> dict[str, Any] | None:
    """The cooldown that runs on the candidate after the report."""
    cooldown: Cooldown | None = settlement.cooldown
    if cooldown is None or cooldown.until <= now:
        return None
    return {
        "reason": str(cooldown.cls),
        "until": utc_text(cooldown.until),
        "level": cooldown.level,
    }


async def renew(runtime: Runtime, lease_id: str, message: Renew, key: Key) -> dict[str, Any]:
    """Raises LeaseNotFound, LeaseFenced."""
    now = runtime.clock()
    await owned(runtime, lease_id, key)
    lease = await runtime.store.renew(lease_id, message.lease_ttl_s, now, message.generation)
    return {
        "lease_id": lease.id,
        "generation": lease.generation,
        "expires_at": utc_text(lease.expires_at),
    }


async def release(runtime: Runtime, lease_id: str, message: Release, key: Key) -> dict[str, Any]:
    """Raises LeaseNotFound, LeaseFenced."""
    await owned(runtime, lease_id, key)
    released = await runtime.store.release(lease_id, runtime.clock(), message.generation)
    return {"released": released}
