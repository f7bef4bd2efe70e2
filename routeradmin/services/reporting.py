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
from routeradmin.engine.turn import Halt
from routeradmin.engine.turn_steps import advice
from routeradmin.services import turns
from routeradmin.services.keys import Key
from routeradmin.services.messages import Release, Renew, Report
from routeradmin.services.refusals import TurnNotFound
from routeradmin.services.runtime import Runtime
from routeradmin.services.tracing import Headers

# For a turn that is gone: its hour is over, or its route or candidate left the catalog.
STOP = {"action": "stop", "wait_ms": 0, "halt": "exhausted"}
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
    settlement = await runtime.store.settle(lease_id, outcome, policy, now, message.generation)
    runtime.limits.end(lease_id, tokens_of(outcome))
    if settlement.answer is not None:
        return given(settlement.answer)
    runtime.meters.attempt(lease.key.deployment, outcome)
    answer = {
        "released": settlement.state is ReportState.OPEN,
        "cooldown": cooldown_json(settlement, now),
        "next": await go_on(runtime, lease, key, outcome, settlement, now, request_id, headers),
    }
    if settlement.state is ReportState.EXPIRED:
        answer["expired"] = True
    await runtime.store.keep_answer(lease_id, answer, now)
    return given(answer)


def tokens_of(outcome: Outcome) -> int | None:
    """What the attempt used, for the key's limits; None where nobody said."""
    if outcome.input_tokens is not None or outcome.output_tokens is not None:
        return (outcome.input_tokens or 0) + (outcome.output_tokens or 0)
    return 0 if outcome.failure is not None and not outcome.visible_output else None


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
        message=runtime.redact(message.message or ""),
        latency_ms=message.latency_ms,
        ttft_ms=message.ttft_ms,
        input_tokens=message.input_tokens,
        output_tokens=message.output_tokens,
    )
    return from_report(
        facts, policy.classify, now=now, replay_unanswered=policy.turn.replay_unanswered
    )


async def go_on(
    runtime: Runtime,
    lease: Lease,
    key: Key,
    outcome: Outcome,
    settlement: Settlement,
    now: float,
    request_id: str,
    headers: Headers,
) -> dict[str, Any]:
    """Tell the turn, and ask what it does next."""
    try:
        turn = await turns.load(runtime, lease.turn_id or "", key, now)
    except (TurnNotFound, ModelNotFound):
        return STOP if outcome.failure is not None else DONE
    if not turn.state.attempts:  # its candidate left the catalog meanwhile
        return STOP if outcome.failure is not None else DONE
    was_over = turn.state.halt is not None
    turn.tell(outcome, now, attempt=turns.number_of(turn, lease), settlement=settlement)
    step = turn.next(runtime.store, now, runtime.rng)
    await turns.save(runtime, turn, now)
    if isinstance(step, Halt) and not was_over:
        turns.record(runtime, turn, request_id=request_id, headers=headers)
    return advice(step, now)


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
    runtime.limits.renew(lease.id, lease.expires_at)
    return {
        "lease_id": lease.id,
        "generation": lease.generation,
        "expires_at": utc_text(lease.expires_at),
    }


async def release(runtime: Runtime, lease_id: str, message: Release, key: Key) -> dict[str, Any]:
    """Raises LeaseNotFound, LeaseFenced."""
    await owned(runtime, lease_id, key)
    released = await runtime.store.release(lease_id, runtime.clock(), message.generation)
    runtime.limits.end(lease_id, 0)
    return {"released": released}
