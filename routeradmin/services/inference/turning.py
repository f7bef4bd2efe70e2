"""A turn carried out: the engine's machine says what is next, this does it until it halts.

Every slot that is taken is given back exactly once, whatever ends the attempt: its answer, the
client leaving, the deadline, the server stopping.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

from routeradmin.engine.outcome import AttemptFacts, Ending, classify
from routeradmin.engine.state import FailureClass, Lease, Outcome
from routeradmin.engine.turn import Halt, Try, Turn, Wait
from routeradmin.engine.turn_state import HaltReason
from routeradmin.services import admission, circumstances, granting, tracing, turns
from routeradmin.services.asking import Asking, asking_of, needs_words, resolve_allowed
from routeradmin.services.calling import NoSecret
from routeradmin.services.inference import attempt, gen_ai, sessions, streaming
from routeradmin.services.inference.asked import Asked, request_of
from routeradmin.services.inference.attempt import Attempted, Job, Progress, Sink
from routeradmin.services.inference.calls import CallMaker, protocol_of, translatable, ways_of
from routeradmin.services.inference.counting import VISION
from routeradmin.services.inference.interrupt import Interrupt
from routeradmin.services.inference.renewal import Renewal
from routeradmin.services.intent.words import of_body
from routeradmin.services.keys import Key
from routeradmin.services.metering import INFERENCE
from routeradmin.services.metering.meters import Call
from routeradmin.services.runtime import Runtime
from routeradmin.services.tracing import Span

BYTES_PER_TOKEN = 4  # what is charged for an answer that reports no usage


@dataclass(slots=True)
class Result:
    """How a turn ended. ``refused`` is the key limit that ended it; ``attempted`` the last
    attempt, ``step`` where it went; ``record`` is what the journal got."""

    halt: Halt
    turn: Turn
    attempted: Attempted | None
    step: Try | None
    refused: admission.Refusal | None
    overhead_ms: float
    record: dict[str, Any]
    api: str


async def asking_for(runtime: Runtime, asked: Asked, key: Key) -> Asking:
    """The request and its route. Raises ModelNotFound, RouteNotAllowed."""
    now, snapshot = runtime.clock(), runtime.current.snapshot
    runtime.store.expire(now)
    request = request_of(
        asked,
        key.uid,
        translatable=translatable(snapshot, asked),
        with_headers=ways_of(snapshot).rules_read_headers,
    )
    if needs_words(snapshot, request.model):
        words = of_body(asked.document, has_image=VISION in asked.facts.requires)
        return await asking_of(runtime, request, key, now, words)
    return Asking(request, resolve_allowed(runtime, request, key, now))


class Turning:
    """One request on its way. Raises ModelNotFound and RouteNotAllowed before anything is done."""

    def __init__(
        self,
        runtime: Runtime,
        asked: Asked,
        asking: Asking,
        key: Key,
        sink: Sink,
        interrupt: Interrupt,
        request_id: str = "",
    ) -> None:
        self._started = perf_counter()
        self._runtime = runtime
        self._asked = asked
        self._key = key
        self._sink = sink
        self._interrupt = interrupt
        self._request_id = request_id
        now = runtime.clock()
        arrived = now if asking.at is None else asking.at
        self._asking, self._resolved = asking, asking.resolved
        has_affinity = self._resolved.route.affinity_ttl_s > 0
        self._session = sessions.session_of(asked) if has_affinity else None
        deadline_s = asked.wishes.deadline_s
        self.turn = Turn.start(
            turns.new_id(),
            self._resolved,
            asking.request,
            now,
            routing=circumstances.routing_of(runtime, asking, now),
            deadline_at=None if deadline_s is None else arrived + deadline_s,
            streaming=asked.facts.stream,
        )
        self._span = tracing.turn_started(runtime.tracer, self.turn, asked, request_id)
        if self.turn.state.deadline_at is not None:
            interrupt.at(max(0.0, self.turn.state.deadline_at - now))
        idempotency_key = asked.wishes.idempotency_key or self.turn.state.id
        self._calls = CallMaker(runtime, self._resolved.snapshot, asked, idempotency_key)
        self._attempted: Attempted | None = None
        self.step: Try | None = None
        self._refused: admission.Refusal | None = None
        self._elsewhere_s = 0.0  # waiting for upstreams, and between rounds

    async def run(self) -> Result:
        """Raises nothing that an upstream or a client could cause."""
        try:
            return await self._run()
        except BaseException as problem:
            self._span.end({}, type(problem).__name__)
            raise

    async def _run(self) -> Result:
        runtime, turn = self._runtime, self.turn
        preferred = runtime.affinity.preferred(
            self._resolved, self._session, self._key.uid, turn.state.started_at
        )
        while True:
            now = runtime.clock()
            if self._interrupt.reason is Ending.DEADLINE and turn.state.halt is None:
                turn.stop(HaltReason.DEADLINE, now)
            step = turn.next(
                runtime.store,
                now,
                runtime.rng,
                cancelled=self._interrupt.reason is Ending.CANCELLED,
                admit=lambda candidate: self._admits(),
                prefer=preferred,
            )
            if isinstance(step, Try):
                await self._try(step, now)
            elif isinstance(step, Wait):
                await self._wait(step, now)
            else:
                return self._over(step)

    def _admits(self) -> bool:
        key, estimate = self._key, self.turn.state.request.estimate
        self._refused = self._runtime.limits.refusal(key, estimate, self._runtime.clock())
        return self._refused is None

    async def _wait(self, step: Wait, now: float) -> None:
        runtime, waiting = self._runtime, perf_counter()
        with self._interrupt:
            await runtime.sleep(max(0.0, step.until - now))
        waited_s = perf_counter() - waiting
        self._elsewhere_s += waited_s
        runtime.meters.queue.observe(waited_s)

    async def _try(self, step: Try, now: float) -> None:
        runtime, turn = self._runtime, self.turn
        grant = granting.grant_of(turn, step, self._key)
        granted = await granting.take(runtime, grant, self._key, now)
        if granted is None:
            turn.lost(step.candidate.key)
            return
        lease, charge = granted
        step = step.on(grant.granted(lease))
        circumstances.note_session(
            runtime, self._asking, self._session, now, lease.key, turn.state.routing
        )
        number = turn.begin(step, now, lease.id)
        self.step, self._attempted = step, None
        progress = Progress(perf_counter())
        renewal = Renewal(runtime, lease, turn.state.request.lease_ttl_s)
        span = tracing.attempt_started(self._span, step, self._asked, number)
        facts = AttemptFacts(Ending.CANCELLED)
        try:
            with self._interrupt:
                self._attempted = await self._carry(step, progress, span)
                facts = self._attempted.facts
            if self._attempted is None:
                facts = AttemptFacts(self._interrupt.reason or Ending.CANCELLED)
        finally:
            renewal.stop()
            self._elsewhere_s += progress.upstream_s
            used = lease.held_tokens
            try:
                used = await self._end(progress.complete(facts), progress, lease, number, span)
            finally:
                if charge is not None:
                    charge.settle(used)

    async def _carry(self, step: Try, progress: Progress, span: Span) -> Attempted:
        candidate = step.candidate
        protocol = protocol_of(candidate, self._asked)
        try:
            call = self._calls.make(candidate, protocol, span.headers())
        except NoSecret:  # it was taken away after the candidate was chosen
            message = f"the secret of credential {candidate.credential.id!r} is gone"
            return Attempted(AttemptFacts(Ending.NOT_CONNECTED, message=message), protocol)
        job = Job(
            self._runtime.upstream,
            call,
            self._asked,
            protocol,
            self._runtime.redact,
            self._calls.redactor(candidate),
            self._runtime.clock(),
        )
        if self._asked.facts.stream:
            return await streaming.stream(job, progress, self._sink)
        return await attempt.plain(job, progress)

    async def _end(
        self, facts: AttemptFacts, progress: Progress, lease: Lease, number: int, span: Span
    ) -> int:
        """Settle the lease and tell the turn; answers the tokens that were used."""
        runtime, turn = self._runtime, self.turn
        now = runtime.clock()
        outcome = classify(
            facts,
            turn.policy.classify,
            now=now,
            replay_unanswered=turn.policy.turn.replay_unanswered,
        )
        if self._asked.counts_only and outcome.failure is FailureClass.NOT_FOUND:
            # Not every upstream counts; that says nothing of its messages.
            outcome = replace(outcome, failure=FailureClass.CALLER)
        self._meter(lease.key.deployment, outcome)
        tracing.attempt_ended(span, outcome)
        settled = _counted(self._asked, outcome, progress, lease)
        settlement = await runtime.store.settle(lease.id, settled, turn.policy, now)
        turn.tell(
            outcome,
            now,
            attempt=number,
            settlement=settlement,
            visible_events=progress.visible_events,
        )
        if outcome.failure is None:
            runtime.affinity.served(self._resolved, self._session, self._key.uid, lease.key, now)
        if outcome.failure is not None and not outcome.visible_output:
            return 0
        if settled.input_tokens is None and settled.output_tokens is None:
            return lease.held_tokens
        return (settled.input_tokens or 0) + (settled.output_tokens or 0)

    def _meter(self, deployment: str, outcome: Outcome) -> None:
        meters, step = self._runtime.meters, self.step
        meters.attempt(deployment, outcome)
        if step is not None:
            provider = step.candidate.deployment.provider.id
            meters.called(Call(gen_ai.operation_of(self._asked.operation), provider), outcome)

    def _over(self, halt: Halt) -> Result:
        self._interrupt.close()
        overhead_ms = (perf_counter() - self._started - self._elsewhere_s) * 1000
        tracing.turn_ended(self._span, self.turn, overhead_ms)
        self._runtime.meters.overhead[INFERENCE].observe(max(0.0, overhead_ms) / 1000)
        record = turns.as_record(
            self.turn,
            request_id=self._request_id,
            overhead_ms=round(max(0.0, overhead_ms), 3),
        )
        turns.finished(self._runtime, record)
        return Result(
            halt,
            self.turn,
            self._attempted,
            self.step,
            self._refused,
            overhead_ms,
            record,
            self._asked.api,
        )


def _counted(asked: Asked, outcome: Outcome, progress: Progress, lease: Lease) -> Outcome:
    """A success that reports no usage and held no estimate is charged what was seen of it;
    counting tokens uses none."""
    if asked.counts_only:
        return replace(outcome, input_tokens=0, output_tokens=0)
    unreported = outcome.input_tokens is None and outcome.output_tokens is None
    if outcome.failure is not None or not unreported or lease.held_tokens:
        return outcome
    return replace(outcome, output_tokens=max(1, progress.bytes_out // BYTES_PER_TOKEN))
