"""The judge of the chaos test finds every kind of broken promise, and excuses what is excusable."""

from __future__ import annotations

import pytest

from tests.chaos import judging
from tests.chaos.__main__ import first_allowed
from tests.chaos.book import Book, Cooled, Held, Sample, Span, most_at_once
from tests.chaos.faults import FAULTS, Hurt
from tests.chaos.judging import A_MINUTE, SLOTS

REDIS = Span("redis killed", frozenset({Hurt.REDIS}), 100.0, 110.0)
WORKER = Span("worker killed", frozenset({Hurt.WORKER}), 200.0, 205.0)
DATABASE = Span("database killed", frozenset({Hurt.DATABASE}), 300.0, 310.0)


@pytest.fixture
def book() -> Book:
    return Book(spans=[REDIS, WORKER, DATABASE])


def test_a_failed_request_is_told_with_what_was_going_on(book: Book) -> None:
    book.samples = [Sample("report", 105, 0.1, 404, "no lease"), Sample("report", 50, 0.1, 200)]
    assert judging.no_errors(book).broken == ["1 x report during redis killed: 404 no lease"]


def test_a_book_without_some_kind_of_answer_keeps_no_promise(book: Book) -> None:
    book.samples = [Sample(kind, 50, 0.1, 200) for kind in judging.EXPECTED]
    book.cooldowns = [Cooled(50, 58)]
    assert not judging.all_answered(book).broken
    book.samples[0] = Sample("select free", 50, 0.1, 429)
    book.cooldowns = []
    assert judging.all_answered(book).broken == ["never: select free", "never: a cooldown"]
    assert judging.verdicts(Book())[0].broken


def test_only_a_killed_worker_may_break_connections(book: Book) -> None:
    book.samples = [Sample("chat", 201, 0.1, 0)]
    assert not judging.no_errors(book).broken
    book.samples = [Sample("chat", 105, 0.1, 0), Sample("chat", 201, 0.1, 503)]
    assert len(judging.no_errors(book).broken) == 2


def test_slow_selects_are_found_where_the_machine_is_not_slow_itself(book: Book) -> None:
    slow = [Sample("select free", 105, 0.2, 200)]
    book.samples = [*slow, Sample("select free", 50, 0.01, 200)]
    assert judging.quick(book).broken == ["redis killed: 0.200 s"]
    book.samples = [*slow, Sample("select free", 50, 0.1, 200)]
    assert not judging.quick(book).broken


def test_slots_are_counted_where_their_times_overlap() -> None:
    held = [Held(0, 10), Held(1, 3), Held(3, 5), Held(4, 4)]
    assert most_at_once(held) == [(0, 1), (1, 2), (3, 2)]


def test_too_many_slots_are_a_broken_promise_while_redis_is_there(book: Book) -> None:
    book.slots = [Held(50, 60)] * (SLOTS + 1)
    assert judging.slots_hold(book).broken
    book.slots = [Held(105, 109)] * (SLOTS + 1)
    assert not judging.slots_hold(book).broken
    book.slots = [Held(205, 209)] * (SLOTS + 1)
    assert judging.slots_hold(book).broken


def test_too_many_grants_are_found_in_minutes_that_redis_saw_whole(book: Book) -> None:
    book.of_minute[0] = book.of_minute[1] = A_MINUTE + 1
    assert judging.minutes_hold(book).broken == [f"{A_MINUTE + 1} in minute 0"]


def test_minutes_that_redis_never_saw_whole_prove_nothing(book: Book) -> None:
    book.of_minute[1] = A_MINUTE + 1
    assert judging.minutes_hold(book).found == judging.NOTHING


def test_every_third_minute_is_left_to_redis() -> None:
    hurting = [fault for fault in FAULTS if Hurt.REDIS in fault.hurts]
    sparing = [fault for fault in FAULTS if Hurt.REDIS not in fault.hurts]
    assert first_allowed([*hurting, *sparing], 70.0) is hurting[0]
    for in_the_minute_or_too_near in (166.0, 180.0, 239.9):
        assert first_allowed([*hurting, *sparing], in_the_minute_or_too_near) is sparing[0]
        assert first_allowed(hurting, in_the_minute_or_too_near) is None
    assert first_allowed(hurting, 240.0) is hurting[0]


def test_a_grant_in_a_cooldown_is_found(book: Book) -> None:
    book.cooldowns = [Cooled(98, 115)]
    book.granted_while_cooled = [98.1, 105.0, 115.0]
    assert len(judging.cooldowns_hold(book).broken) == 1


def test_a_cooldown_told_apart_holds_from_the_end_of_the_fault(book: Book) -> None:
    book.cooldowns = [Cooled(102, 120)]
    book.granted_while_cooled = [105.0, 112.0]
    assert len(judging.cooldowns_hold(book).broken) == 1


def test_an_edit_may_be_refused_while_the_database_is_gone(book: Book) -> None:
    book.samples = [Sample("edit", 305, 1, 503)]
    assert not judging.edits_answered(book).broken
    book.samples = [Sample("edit", 305, 1, 500), Sample("edit", 50, 1, 503)]
    assert len(judging.edits_answered(book).broken) == 2


def test_a_report_taken_down_while_redis_was_late_may_be_answered_anew(book: Book) -> None:
    book.spans.append(Span("redis late", frozenset({Hurt.REDIS}), 400.0, 400.5))
    book.other_answers = [(400.2, "taken down"), (420.0, "another answer")]
    assert judging.answers_kept(book).broken == ["another answer"]


def test_only_a_turn_that_is_over_has_to_be_in_the_database(book: Book) -> None:
    for turn, action in (("over", "done"), ("failed", "stop"), ("goes on", "retry")):
        book.told(turn, {"next": {"action": action}}, 50.0)
    assert judging.turns_kept(book, {"over"}).broken == ["failed told during calm"]


def test_lost_turns_and_edits_are_found(book: Book) -> None:
    book.turns = {"kept": 50.0, "lost": 60.0, "with its worker": 199.5}
    assert len(judging.turns_kept(book, {"kept"}).broken) == 1
    book.edits = [2, 3]
    assert judging.edits_kept(book, {1, 2}).broken == ["weight 3"]
