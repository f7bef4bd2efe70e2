"""Routing as a library: run one request against a route, with everything effectful supplied.

Needs neither Django nor a server. The steps are the turn machine's; this file only acts on them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from routeradmin.engine.eligibility import static
from routeradmin.engine.embed_ports import (
    WARNING,
    Answer,
    Ask,
    AttemptFailed,
    Cut,
    Event,
    Model,
    Ports,
    SinkRefused,
)
from routeradmin.engine.errors import EngineError
from routeradmin.engine.explain import explain_route
from routeradmin.engine.outcome import AttemptFacts, Ending, classify
from routeradmin.engine.policy import Policy
from routeradmin.engine.refusal import Refusal
from routeradmin.engine.request import SelectRequest
from routeradmin.engine.resolve import Resolved, resolve
from routeradmin.engine.snapshot import Candidate, Snapshot
from routeradmin.engine.state import (
    CandidateState,
    Dispatch,
    FailureClass,
    Grant,
    Lease,
    Outcome,
    Settlement,
    StateView,
)
from routeradmin.engine.tables import Table
from routeradmin.engine.turn import Turn
from routeradmin.engine.turn_state import HaltReason
from routeradmin.engine.turn_steps import Halt, Try, Wait

LEASE_TTL_S = 3600.0  # a run gives its slot back itself; this only bounds a lost process
_FOREIGN = "the answer belongs to another binding"


class Unsupported(EngineError):
    """No target can serve the request; ``refusal`` lists the reasons."""

    def __init__(self, refusal: Refusal) -> None:
        self.refusal = refusal
        super().__init__(refusal.message)


class InvalidRun(EngineError):
    """The ports do not fit the route: nothing was attempted."""


@dataclass(frozen=True, slots=True)
class RunError:
    """The last attempt's failure; its message says how often its target was tried."""

    cls: str | None
    status: int | None
    dispatch: str | None
    message: str


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A run that is over. ``attempts`` and ``warnings`` as in turn records; ``answer`` with halt
    ``succeeded``, else ``error``; ``refusal`` where no attempt was possible."""

    explanation: dict[str, Any]
    attempts: Sequence[dict[str, Any]]
    warnings: Sequence[dict[str, Any]]
    halt: HaltReason
    answer: Answer | None = None
    error: RunError | None = None
    refusal: Refusal | None = None


async def run(
    snapshot: Snapshot,
    request: SelectRequest,
    input_tokens: int | None,
    policy: Policy,
    ports: Ports,
    *,
    payload: Any = None,
    deadline_at: float | None = None,
    idempotency_key: str | None = None,
) -> RunRecord:
    """Run ``request`` against its route under ``policy``.

    ``input_tokens`` is an upper bound valid for every candidate; None refuses those that declare
    a context window. ``payload`` goes to the models untouched. ``deadline_at``: epoch seconds.
    Raises ModelNotFound, Unsupported, InvalidRun (a target's model is missing or was made for
    another binding).
    """
    asked = replace(request, input_tokens=input_tokens)
    found = resolve(snapshot, asked.model)
    resolved = found._replace(route=replace(found.route, policy=policy))
    runner = _Run(resolved, asked, ports, payload, deadline_at, idempotency_key)
    return await runner.to_the_end()


class _Run:
    """One run under way."""

    def __init__(
        self,
        resolved: Resolved,
        request: SelectRequest,
        ports: Ports,
        payload: Any,
        deadline_at: float | None,
        idempotency_key: str | None,
    ) -> None:
        self._ports = ports
        self._payload = payload
        self._key = idempotency_key or f"{ports.rng.getrandbits(128):032x}"
        self._view: StateView = ports.store or _Blank()
        now = ports.clock()
        self._turn = Turn.start(self._key, resolved, request, now, deadline_at=deadline_at)
        draws = Random()
        draws.setstate(ports.rng.getstate())  # explaining must not move the run's own draws
        self._explained = explain_route(resolved, request, self._view, now, draws)
        self._answer: Answer | None = None
        self._visible = 0
        for candidate in _within_reach(resolved):
            if not any(static(candidate, request)):
                self._model(candidate)

    async def to_the_end(self) -> RunRecord:
        while True:
            now, ports = self._ports.clock(), self._ports
            step = self._turn.next(self._view, now, ports.rng, cancelled=ports.cancelled())
            if isinstance(step, Halt):
                return self._record(step)
            if isinstance(step, Wait):
                await self._wait(step, now)
            else:
                await self._try(step, now)

    async def _wait(self, step: Wait, now: float) -> None:
        if step.warning is not None and not self._ports.sink(Event(WARNING, step.warning)):
            self._turn.stop(HaltReason.SINK_REFUSED, now)
            return
        pause = self._ports.pause(max(0.0, step.until - now))
        if await self._race(pause) is Cut.CANCELLED:
            self._turn.stop(HaltReason.CANCELLED, self._ports.clock())

    async def _try(self, step: Try, now: float) -> None:
        model = self._model(step.candidate)
        if not await self._admitted(step.candidate):
            return
        lease = await self._reserve(step, now)
        if lease is None and self._ports.store is not None:
            self._turn.lost(step.candidate.key)
            return
        self._turn.begin(step, now)
        self._visible = 0
        outcome: Outcome | None = None
        try:
            outcome = await self._attempt(model, step.candidate)
        finally:
            settled = await self._settle(lease, outcome)
        self._turn.tell(
            outcome, self._ports.clock(), settlement=settled, visible_events=self._visible
        )

    async def _admitted(self, candidate: Candidate) -> bool:
        answer = await self._race(self._ports.admit(candidate))
        halts = {
            Cut.CANCELLED: HaltReason.CANCELLED,
            Cut.TIMED_OUT: HaltReason.DEADLINE,
            False: HaltReason.LIMIT_REFUSED,
        }
        if answer in halts:
            self._turn.stop(halts[answer], self._ports.clock())
        return answer is True

    async def _attempt(self, model: Model, candidate: Candidate) -> Outcome:
        """The one attempt, as an outcome; a model's own faults pass through."""
        ask = Ask(self._payload, candidate, self._emit, self._turn.state.deadline_at, self._key)
        try:
            answer = await self._race(model.attempt(ask))
        except AttemptFailed as failed:
            return self._failed(failed, candidate)
        except SinkRefused:
            self._turn.stop(HaltReason.SINK_REFUSED, self._ports.clock())
            return self._classed(AttemptFacts(Ending.CANCELLED))
        if isinstance(answer, Cut):
            ending = Ending.CANCELLED if answer is Cut.CANCELLED else Ending.DEADLINE
            return self._classed(AttemptFacts(ending))
        if answer.binding_revision not in (None, candidate.binding_revision):
            return Outcome(FailureClass.REFUSED, Dispatch.ACCEPTED, message=_FOREIGN)
        self._answer = answer
        return Outcome(
            None,
            Dispatch.ACCEPTED,
            answer.status,
            visible_output=self._visible > 0,
            input_tokens=answer.input_tokens,
            output_tokens=answer.output_tokens,
        )

    def _failed(self, failed: AttemptFailed, candidate: Candidate) -> Outcome:
        """Evidence that belongs to another binding proves nothing about this dispatch."""
        outcome = self._classed(failed.facts)
        if failed.binding_revision in (None, candidate.binding_revision):
            return outcome
        return Outcome(FailureClass.TRANSIENT, Dispatch.UNKNOWN, message=_FOREIGN)

    def _classed(self, facts: AttemptFacts) -> Outcome:
        policy = self._turn.policy
        return classify(
            replace(facts, visible_output=facts.visible_output or self._visible > 0),
            policy.classify,
            now=self._ports.clock(),
            replay_unanswered=policy.turn.replay_unanswered,
        )

    def _emit(self, event: Event) -> None:
        if event.kind != WARNING:
            self._visible += 1
        if not self._ports.sink(event):
            raise SinkRefused("the sink takes no more events")

    async def _race(self, runner: Any) -> Any:
        deadline_at = self._turn.state.deadline_at
        left_s = None if deadline_at is None else max(0.0, deadline_at - self._ports.clock())
        return await self._ports.race(runner, left_s)

    async def _reserve(self, step: Try, now: float) -> Lease | None:
        if self._ports.store is None:
            return None
        state = self._turn.state
        grant = Grant(
            step.candidate,
            state.id,
            LEASE_TTL_S,
            state.request.estimate,
            step.resolved.route.id,
            self._turn.policy.id,
            state.id,
            step.cursor,
        )
        return await self._ports.store.reserve(grant, now)

    async def _settle(self, lease: Lease | None, outcome: Outcome | None) -> Settlement | None:
        """Give the slot back; with no outcome, a fault of the model's own code, nothing more."""
        store, now = self._ports.store, self._ports.clock()
        if store is None or lease is None:
            return None
        if outcome is None:
            await store.release(lease.id, now)
            return None
        return await store.settle(lease.id, outcome, self._turn.policy, now)

    def _model(self, candidate: Candidate) -> Model:
        """Raises InvalidRun."""
        models = self._ports.models
        model = models.get(str(candidate.key)) or models.get(candidate.deployment.id)
        if model is None:
            raise InvalidRun(f"No model serves {candidate.key}: add one to the ports.")
        if model.binding_revision != candidate.binding_revision:
            raise InvalidRun(
                f"The model for {candidate.key} was made for another binding: make it from the "
                "target's provenance."
            )
        return model

    def _record(self, halt: Halt) -> RunRecord:
        if halt.halt is None and halt.refusal is not None:
            raise Unsupported(halt.refusal)
        state = self._turn.state
        succeeded = halt.halt is HaltReason.SUCCEEDED
        dispatch = state.attempts[-1].dispatch if state.attempts else None
        return RunRecord(
            self._explained.as_json(),
            [attempt.as_record() for attempt in state.attempts],
            list(state.warnings),
            halt.halt or HaltReason.EXHAUSTED,
            self._answer if succeeded else None,
            None if succeeded else RunError(halt.cls, halt.status, dispatch, halt.message),
            halt.refusal,
        )


def _within_reach(resolved: Resolved) -> Iterator[Candidate]:
    """Every candidate that the run could come to."""
    route = resolved.route
    if not route.fallback_enabled:
        yield from route.tiers[0].candidates if route.tiers else ()
        return
    yield from (*route.candidates, *route.preview)
    lists = route.policy.fallback
    for ids in (lists.general, lists.context_window, lists.content_policy, lists.rate_limit):
        for route_id in ids or ():
            other = resolved.snapshot.routes.get(route_id)
            yield from () if other is None else (*other.candidates, *other.preview)


class _Blank:
    """A view without memory: every candidate healthy and idle."""

    def of(self, candidate: Candidate) -> CandidateState:
        return CandidateState(candidate.key)

    def row(self, table: Table) -> Sequence[CandidateState]:
        return [CandidateState(candidate.key) for candidate in table.candidates]

    def suspects(self, table: Table) -> Sequence[int] | None:
        del table
        return None

    def cursor(self, name: str) -> int:
        del name
        return 0
