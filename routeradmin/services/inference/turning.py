"""A turn carried out: the engine's machine says what is next, this does it until it halts.

Every slot that is taken is given back exactly once, whatever ends the attempt: its answer, the
client leaving, the deadline, the server stopping. A first attempt in whose way nothing stands is
made without the machine, which is set up where that attempt fails.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from time import perf_counter
from typing import Any, NamedTuple

from routeradmin.engine.key_use import KeyRefused
from routeradmin.engine.outcome import AttemptFacts, Ending, classify
from routeradmin.engine.select import choose
from routeradmin.engine.state import FailureClass, Lease, Outcome, Settlement
from routeradmin.engine.turn import Halt, Try, Turn, Wait
from routeradmin.engine.turn_state import HaltReason
from routeradmin.services import admission, circumstances, granting, tracing, turns
from routeradmin.services.affinity import Session
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
from routeradmin.services.served import Served
from routeradmin.services.tracing import Span
from routeradmin.services.turn_record import as_record

_CUT_OFF = frozenset({Ending.CANCELLED, Ending.STOPPED})
_WORDS = {Ending.STOPPED: "cut off: the server stopped"}
BYTES_PER_TOKEN = 4  # what is charged for an answer that reports no usage


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


class Begun(NamedTuple):
    """A first attempt that was begun without the machine: where, when, on which lease."""

    step: Try
    at: float
    lease_id: str


class Turning:
    """One request on its way; after ``run``, how it went.

    ``halt`` is its end, ``attempted`` the last attempt and ``step`` where that went; ``refused``
    is the key limit that ended it, ``record`` what the journal got.
    """

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
        self._key = key
        self._sink = sink
        self._interrupt = interrupt
        self._request_id = request_id
        self._id = turns.new_id()
        self._started_at = runtime.clock()
        self._turn: Turn | None = None
        self._begun: Begun | None = None
        self._served: Served | None = None
        self._session: Session | None = None
        self._span = tracing.OFF_SPAN
        self._asking = asking
        idempotency_key = asked.wishes.idempotency_key or self._id
        self._calls = CallMaker(runtime, asking.resolved.snapshot, asked, idempotency_key)
        self._elsewhere_s = 0.0  # waiting for upstreams, and between rounds
        self.asked = asked
        self.resolved = asking.resolved
        self.halt = Halt(None)
        self.attempted: Attempted | None = None
        self.step: Try | None = None
        self.refused: admission.Refusal | None = None
        self.overhead_ms = 0.0

    @property
    def turn(self) -> Turn:
        """The machine, made when it is needed: nearly all turns are over with one attempt."""
        if self._turn is None:
            self._turn = self._set_up()
        return self._turn

    @property
    def attempts(self) -> int:
        """How many have begun."""
        return int(self._begun is not None) if self._turn is None else self._turn.attempts

    @property
    def record(self) -> Mapping[str, Any]:
        if self._served is not None:
            return self._served.as_record()
        overhead_ms = round(self.overhead_ms, 3)
        return as_record(self.turn, request_id=self._request_id, overhead_ms=overhead_ms)

    async def run(self) -> Halt:
        """Raises nothing that an upstream or a client could cause."""
        try:
            halt = await self._first() if self._is_plain() else None
            self.halt = halt or await self._go_on()
        except BaseException as problem:
            self._span.end({}, type(problem).__name__)
            raise
        self._over()
        return self.halt

    def _is_plain(self) -> bool:
        """Whether nothing but the route has a say in the first attempt, and nobody follows it."""
        route, asking = self.resolved.route, self._asking
        return (
            asking.decision is None
            and asking.request.preferences is None
            and not route.rules
            and route.affinity_ttl_s <= 0
            and route.policy.turn.deadline_s is None
            and self.asked.wishes.deadline_s is None
            and self._interrupt.reason is None
            and self._runtime.tracer is tracing.OFF
        )

    async def _first(self) -> Halt | None:
        """The attempt that the machine would begin with, where it answers; None: the machine has
        the rules for what comes now."""
        runtime, request, now = self._runtime, self._asking.request, self._started_at
        found = choose(self.resolved, request, runtime.store, now, runtime.rng)
        if found is None or found.note:
            return None
        candidate, cursor, tier, _, _, ring = found
        await self._try(Try(candidate, cursor, self.resolved, tier, ring=ring), now)
        return _SUCCEEDED if self._served is not None else None

    def _set_up(self) -> Turn:
        runtime, asked, now = self._runtime, self.asked, self._started_at
        arrived = now if self._asking.at is None else self._asking.at
        deadline_s = asked.wishes.deadline_s
        turn = Turn.start(
            self._id,
            self.resolved,
            self._asking.request,
            now,
            routing=circumstances.routing_of(runtime, self._asking, now),
            deadline_at=None if deadline_s is None else arrived + deadline_s,
            streaming=asked.facts.stream,
        )
        if self._begun is not None:
            turn.catch_up(*self._begun)
        if self.resolved.route.affinity_ttl_s > 0:
            self._session = sessions.session_of(asked)
        self._span = tracing.turn_started(runtime.tracer, turn, asked, self._request_id)
        if turn.state.deadline_at is not None:
            self._interrupt.at(max(0.0, turn.state.deadline_at - runtime.clock()))
        return turn

    async def _go_on(self) -> Halt:
        runtime, turn = self._runtime, self.turn
        await runtime.affinity.recall(
            runtime.store, self.resolved, self._session, self._key.uid, turn.state.started_at
        )
        preferred = runtime.affinity.preferred(
            self.resolved, self._session, self._key.uid, turn.state.started_at
        )
        is_certain = False
        while True:
            now = runtime.clock()
            if self._interrupt.reason is Ending.DEADLINE and turn.state.halt is None:
                turn.stop(HaltReason.DEADLINE, now)
            step = turn.next(
                runtime.store,
                now,
                runtime.rng,
                cancelled=self._interrupt.reason in _CUT_OFF,
                prefer=preferred,
            )
            if isinstance(step, Try):
                await self._try(step, now)
            elif isinstance(step, Wait):
                await self._wait(step, now)
            elif is_certain or not await granting.recounted(runtime, turn, step, now):
                return step
            else:
                is_certain = True

    async def _wait(self, step: Wait, now: float) -> None:
        runtime, waiting = self._runtime, perf_counter()
        with self._interrupt:
            await runtime.sleep(max(0.0, step.until - now))
        waited_s = perf_counter() - waiting
        self._elsewhere_s += waited_s
        runtime.meters.queue.observe(waited_s)

    async def _try(self, step: Try, now: float) -> None:
        runtime, request = self._runtime, self._asking.request
        policy_id = self.resolved.route.policy.id
        grant = granting.grant_for(self._id, request, policy_id, step, self._key)
        try:
            lease = await runtime.store.reserve(grant, now)
        except KeyRefused as refused:
            self.refused = admission.refusal(self._key, refused.limit, now)
            self.turn.stop(HaltReason.LIMIT_REFUSED, now)
            return
        if lease is None:
            if self._turn is not None:
                self._turn.lost(step.candidate.key)
            return
        self.step = step = step.on(grant.granted(lease))
        self.attempted = None
        number = self._begin(step, now, lease)
        progress = Progress(perf_counter())
        renewal = Renewal(runtime, lease, request.lease_ttl_s)
        span = tracing.attempt_started(self._span, step, self.asked, number)
        facts = AttemptFacts(Ending.CANCELLED)
        try:
            with self._interrupt:
                self.attempted = await self._carry(step, now, progress, span)
                facts = self.attempted.facts
            if self.attempted is None:
                reason = self._interrupt.reason or Ending.CANCELLED
                facts = AttemptFacts(reason, message=_WORDS.get(reason, ""))
        finally:
            renewal.stop()
            self._elsewhere_s += progress.upstream_s
            await self._end(progress.complete(facts), progress, lease, number, span)

    def _begin(self, step: Try, now: float, lease: Lease) -> int:
        """The attempt's number."""
        if self._turn is None:
            self._begun = Begun(step, now, lease.id)
            return 1
        if self._session is not None:
            routing = self._turn.state.routing
            circumstances.note_session(
                self._runtime, self._asking, self._session, now, lease.key, routing
            )
        return self._turn.begin(step, now, lease.id)

    async def _carry(self, step: Try, now: float, progress: Progress, span: Span) -> Attempted:
        candidate = step.candidate
        protocol = protocol_of(candidate, self.asked)
        try:
            call = self._calls.make(candidate, protocol, span.headers())
        except NoSecret:  # it was taken away after the candidate was chosen
            message = f"the secret of credential {candidate.credential.id!r} is gone"
            return Attempted(AttemptFacts(Ending.NOT_CONNECTED, message=message), protocol)
        job = Job(
            self._runtime.upstream,
            call,
            self.asked,
            protocol,
            self._runtime.redact,
            self._calls.redactor(candidate),
            now,
        )
        if self.asked.facts.stream:
            return await streaming.stream(job, progress, self._sink)
        return await attempt.plain(job, progress)

    async def _end(
        self, facts: AttemptFacts, progress: Progress, lease: Lease, number: int, span: Span
    ) -> None:
        """Settle the lease and tell the turn."""
        runtime, policy = self._runtime, self.resolved.route.policy
        now = runtime.clock()
        outcome = classify(
            facts, policy.classify, now=now, replay_unanswered=policy.turn.replay_unanswered
        )
        if self.asked.counts_only and outcome.failure is FailureClass.NOT_FOUND:
            # Not every upstream counts; that says nothing of its messages.
            outcome = replace(outcome, failure=FailureClass.CALLER)
        self._meter(lease.key.deployment, outcome)
        tracing.attempt_ended(span, outcome)
        settled = _counted(self.asked, outcome, progress, lease)
        settlement = await runtime.store.settle(lease.id, settled, policy, now)
        self._tell(outcome, now, number, settlement, progress)
        if outcome.failure is None and self._session is not None:
            runtime.affinity.served(
                runtime.store, self.resolved, self._session, self._key.uid, lease.key, now
            )

    def _tell(
        self,
        outcome: Outcome,
        now: float,
        number: int,
        settlement: Settlement,
        progress: Progress,
    ) -> None:
        if self._turn is None and self._begun is not None and outcome.failure is None:
            self._served = Served(
                self._id,
                self._request_id,
                self.resolved,
                self._key.uid,
                self._begun.step,
                self._started_at,
                self._begun.at,
                now,
                outcome,
                progress.visible_events,
            )
            return
        self.turn.tell(
            outcome,
            now,
            attempt=number,
            settlement=settlement,
            visible_events=progress.visible_events,
        )

    def _meter(self, deployment: str, outcome: Outcome) -> None:
        meters, step = self._runtime.meters, self.step
        meters.attempt(deployment, outcome)
        if step is not None:
            provider = step.candidate.deployment.provider.id
            meters.called(Call(gen_ai.operation_of(self.asked.operation), provider), outcome)

    def _over(self) -> None:
        self._interrupt.close()
        overhead_s = max(0.0, perf_counter() - self._started - self._elsewhere_s)
        self.overhead_ms = overhead_s * 1000
        self._runtime.meters.overhead[INFERENCE].observe(overhead_s)
        if self._served is not None:
            self._served = self._served._replace(overhead_ms=round(self.overhead_ms, 3))
            turns.answered(self._runtime, self._served)
            return
        tracing.turn_ended(self._span, self.turn, self.overhead_ms)
        turns.finished(self._runtime, self.record)


_SUCCEEDED = Halt(HaltReason.SUCCEEDED)


def _counted(asked: Asked, outcome: Outcome, progress: Progress, lease: Lease) -> Outcome:
    """A success that reports no usage and held no estimate is charged what was seen of it;
    counting tokens uses none."""
    if asked.counts_only:
        return replace(outcome, input_tokens=0, output_tokens=0)
    unreported = outcome.input_tokens is None and outcome.output_tokens is None
    if outcome.failure is not None or not unreported or lease.held_tokens:
        return outcome
    return replace(outcome, output_tokens=max(1, progress.bytes_out // BYTES_PER_TOKEN))
