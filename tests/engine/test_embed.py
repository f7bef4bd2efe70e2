"""Running a turn as a library, on a clock that only waiting moves."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from routeradmin.adapters.state_memory import MemoryStore
from routeradmin.engine.embed import InvalidRun, Unsupported, run
from routeradmin.engine.embed_ports import Answer, AttemptFailed, Cut, Event, Ports
from routeradmin.engine.errors import ModelNotFound
from routeradmin.engine.outcome import AttemptFacts, Ending
from routeradmin.engine.policy import DEFAULT_POLICY, FallbackLists, TurnPolicy, disabled
from tests.engine.turn_world import ASK, T0, catalog, deployment, route

A, B = deployment("A"), deployment("B")
SNAPSHOT = catalog([A, B], route(["A"], ["B"]))
NO_REPLAY = replace(DEFAULT_POLICY, turn=TurnPolicy(replay_unanswered=False))


class Scripted:
    """A model that plays back endings; a list entry may be a callable given the ask."""

    def __init__(self, *said, binding_revision: str = "") -> None:
        self.said = list(said)
        self.asked: list = []
        self.binding_revision = binding_revision

    async def attempt(self, ask) -> Answer:
        self.asked.append(ask)
        said = self.said.pop(0) if len(self.said) > 1 else self.said[0]
        if callable(said):
            return await said(ask)
        if isinstance(said, Exception):
            raise said
        return Answer(said, input_tokens=3)


def failing(status: int | None, ending: Ending = Ending.ANSWERED, **facts) -> AttemptFailed:
    return AttemptFailed(AttemptFacts(ending, status, **facts))


class Program:
    """An embedding program whose time stands still but while it waits."""

    def __init__(self, snapshot=SNAPSHOT, **models) -> None:
        self.snapshot = snapshot
        self.models = {"A": Scripted("from A"), "B": Scripted("from B"), **models}
        self.now = T0
        self.waits: list[float] = []
        self.events: list[Event] = []
        self.gave_up = False
        self.cut: Cut | None = None

    def run(self, policy=DEFAULT_POLICY, input_tokens=10, request=ASK, deadline_at=None, **ports):
        made = Ports(
            models=self.models,
            pause=self.pause,
            race=self.race,
            clock=lambda: self.now,
            cancelled=lambda: self.gave_up,
            sink=ports.pop("sink", self.take),
            **ports,
        )
        return asyncio.run(
            run(self.snapshot, request, input_tokens, policy, made, deadline_at=deadline_at)
        )

    async def pause(self, wait_s: float) -> None:
        self.waits.append(round(wait_s, 6))
        self.now += wait_s

    async def race(self, runner, limit_s):
        if self.cut is not None:
            runner.close()
            return self.cut
        return await runner

    def take(self, event: Event) -> bool:
        self.events.append(event)
        return True


async def refuse(candidate) -> bool:
    return candidate.deployment.id == "A"


async def half_a_stream(ask) -> Answer:
    ask.emit(Event("text-delta", "Hel"))
    raise failing(200, Ending.BROKEN)


async def foreign_answer(ask) -> Answer:
    return Answer("x", binding_revision="someone else's")


def test_a_run_answers_with_its_record_and_the_explanation():
    record = Program().run()
    assert (record.halt, record.answer.value) == ("succeeded", "from A")
    assert record.explanation["selected_target_id"] == "r-A-0"
    (attempt,) = record.attempts
    assert attempt["usage"] == {"input": 3, "output": None}


def test_retries_wait_warn_and_are_recorded():
    program = Program(A=Scripted(failing(503), failing(503), "at last"))
    record = program.run()
    assert (record.halt, program.waits) == ("succeeded", [1, 2])
    assert [event.value["wait_ms"] for event in program.events] == [1000, 2000]
    assert [attempt["status"] for attempt in record.attempts] == [503, 503, 200]


def test_spent_retries_move_to_the_target_the_route_named():
    record = Program(A=Scripted(failing(503))).run()
    assert (record.halt, record.answer.value) == ("succeeded", "from B")
    assert len(record.attempts) == 5


def test_an_exhausted_run_tells_its_last_error():
    program = Program(A=Scripted(failing(503)), B=Scripted(failing(503, message="down")))
    record = program.run()
    assert (record.halt, record.answer) == ("exhausted", None)
    assert record.error.message == "down (after 4 attempts)"
    assert (record.error.cls, record.error.dispatch) == ("transient", "unknown")


@pytest.mark.parametrize(
    ("model", "policy", "halt"),
    [
        (Scripted(failing(401)), DEFAULT_POLICY, "ineligible-failure"),
        (Scripted(failing(None, Ending.UNANSWERED)), NO_REPLAY, "ambiguous-dispatch"),
        (Scripted(half_a_stream), DEFAULT_POLICY, "visible-output"),
        (Scripted(failing(503)), disabled(), "attempt-bound"),
        (Scripted(foreign_answer), DEFAULT_POLICY, "ineligible-failure"),
        (
            Scripted(AttemptFailed(AttemptFacts(Ending.ANSWERED, 503), "foreign")),
            DEFAULT_POLICY,
            "ambiguous-dispatch",
        ),
    ],
)
def test_what_ends_a_run_after_one_attempt(model, policy, halt):
    program = Program(A=model)
    record = program.run(policy)
    assert (record.halt, len(record.attempts)) == (halt, 1)
    assert program.models["B"].asked == []


def test_visible_events_are_counted_and_warnings_are_not():
    record = Program(A=Scripted(half_a_stream)).run()
    assert record.attempts[0]["visible_events"] == 1
    record = Program(A=Scripted(failing(503), "ok")).run()
    assert [attempt["visible_events"] for attempt in record.attempts] == [0, 0]


def test_admission_is_asked_before_every_attempt():
    record = Program(A=Scripted(failing(402))).run(admit=refuse)
    assert (record.halt, len(record.attempts)) == ("limit-refused", 1)


def test_a_sink_that_refuses_the_warning_or_an_event_ends_the_run():
    record = Program(A=Scripted(failing(503))).run(sink=lambda event: False)
    assert (record.halt, len(record.attempts)) == ("sink-refused", 1)
    record = Program(A=Scripted(half_a_stream)).run(sink=lambda event: False)
    assert (record.halt, len(record.attempts)) == ("sink-refused", 1)


def test_cancellation_and_deadline_cut_a_running_attempt():
    for cut, halt in ((Cut.CANCELLED, "cancelled"), (Cut.TIMED_OUT, "deadline")):
        program = Program()
        program.cut = cut
        assert program.run(deadline_at=T0 + 5).halt == halt


def test_a_caller_who_gave_up_before_gets_no_attempt():
    program = Program()
    program.gave_up = True
    record = program.run()
    assert (record.halt, list(record.attempts)) == ("cancelled", [])


def test_every_attempt_carries_the_same_idempotency_key():
    program = Program(A=Scripted(failing(503), "ok"))
    program.run()
    first, second = program.models["A"].asked
    assert first.idempotency_key == second.idempotency_key != ""


def test_a_missing_or_foreign_model_is_refused_before_any_attempt():
    program = Program(B=Scripted("x", binding_revision="other"))
    with pytest.raises(InvalidRun, match="another binding"):
        program.run()
    del program.models["B"]
    with pytest.raises(InvalidRun, match="No model serves B/k"):
        program.run()
    assert program.models["A"].asked == []


def test_an_unknown_name_or_nothing_compatible_raises():
    with pytest.raises(ModelNotFound):
        Program().run(request=replace(ASK, model="nobody"))
    with pytest.raises(Unsupported) as refused:
        Program().run(request=replace(ASK, opaque=(None,)))
    assert refused.value.refusal.reasons == ("opaque-state",)


def test_with_a_store_cooldowns_outlive_the_run_and_slots_are_given_back():
    store = MemoryStore()
    store.bind(SNAPSHOT)
    program = Program(A=Scripted(failing(402)))
    assert program.run(store=store).answer.value == "from B"
    assert program.run(store=store).answer.value == "from B"
    assert len(program.models["A"].asked) == 1
    assert {state.active for state in store.states()} == {0}


def test_a_models_own_fault_passes_through_and_gives_the_slot_back():
    store = MemoryStore()
    store.bind(SNAPSHOT)
    with pytest.raises(ZeroDivisionError):
        Program(A=Scripted(ZeroDivisionError())).run(store=store)
    assert {state.active for state in store.states()} == {0}


def test_a_slot_that_another_took_meanwhile_is_no_attempt():
    class Contested(MemoryStore):
        async def reserve(self, grant, now):
            taken = grant.candidate.deployment.id == "A"
            return None if taken else await super().reserve(grant, now)

    store = Contested()
    store.bind(SNAPSHOT)
    record = Program().run(store=store)
    assert (record.answer.value, len(record.attempts)) == ("from B", 1)


def test_a_sink_that_refuses_an_event_of_an_attempt_ends_the_run():
    async def talks(ask) -> Answer:
        ask.emit(Event("text-delta", "Hel"))
        return Answer("never")

    record = Program(A=Scripted(talks)).run(sink=lambda event: False)
    assert (record.halt, record.answer, len(record.attempts)) == ("sink-refused", None, 1)


def test_models_of_the_fallback_routes_are_looked_for_before_any_attempt():
    policy = replace(DEFAULT_POLICY, fallback=FallbackLists(general=("spare",)))
    spare = catalog([A, B], route(["A"]), route(["B"], id="spare", alias="s"), policy=policy)
    program = Program(spare)
    del program.models["B"]
    with pytest.raises(InvalidRun, match="No model serves B/k"):
        program.run(policy)
