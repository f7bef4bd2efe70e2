"""Whether what was promised was kept, from the book alone."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import NamedTuple

from tests.chaos.book import CALM, Book, Sample, most_at_once, quantile_s
from tests.chaos.faults import Hurt
from tests.chaos.load import COOLED_S, LEASE_S

SLOTS = 4
A_MINUTE = 60
P99_S = 0.1
# A machine that is busy with other things is told from a fault by its calm times.
TIMES_CALM = 3
BREAKS_S = 2.0  # connections to a killed worker are found broken by then
HEARD_S = 0.5  # a cooldown is with every process by then
TAKEN_DOWN_S = 1.0  # so long after Redis's return a report may still be taken down for later
WRITTEN_S = 1.0  # an acknowledged turn is in the database by then

MOST_SHOWN = 5
NOTHING = "nothing to judge by"
MINE = ("select free", "report", "release", "chat", "stream", "repeated report")
# Without answers to these there is nothing to judge.
EXPECTED = (*MINE[:-1], "select slots", "select minute", "select cooled", "edit")


class Verdict(NamedTuple):
    promise: str
    found: str
    broken: list[str]


def verdicts(book: Book) -> list[Verdict]:
    return [judge(book) for judge in JUDGES]


def errors(book: Book, kinds: tuple[str, ...]) -> Iterator[Sample]:
    """Answers other than 200, but for connections that broke with their worker."""
    for sample in book.samples:
        if sample.kind not in kinds or sample.status == 200:
            continue
        if sample.status == 0 and book.was_hurt(Hurt.WORKER, sample.at, after_s=BREAKS_S):
            continue
        if sample.status == 0 and book.was_hurt(Hurt.WORKER, sample.at + sample.took_s):
            continue
        yield sample


def no_errors(book: Book) -> Verdict:
    asked = Counter(sample.kind for sample in book.samples if sample.kind in MINE)
    failed = list(errors(book, MINE))
    kinds = Counter(
        f"{one.kind} during {book.fault_at(one.at)}: {one.status} {one.detail}" for one in failed
    )
    rate = len(failed) / max(1, sum(asked.values()))
    found = f"{len(failed)} of {sum(asked.values())} ({rate:.4%})"
    return Verdict("no request fails", found, [f"{n} x {k}" for k, n in kinds.most_common()])


def all_answered(book: Book) -> Verdict:
    """A promise about what never came is no promise kept."""
    answered = Counter(sample.kind for sample in book.samples if sample.status == 200)
    missing = [kind for kind in EXPECTED if not answered[kind]]
    missing += [] if book.cooldowns else ["a cooldown"]
    found = f"{answered.total()} answers"
    return Verdict("there was everything to judge", found, [f"never: {one}" for one in missing])


def quick(book: Book) -> Verdict:
    took = p99_by_fault(book)
    limit_s = max(P99_S, TIMES_CALM * took.get(CALM, 0.0))
    slow = [f"{name}: {p99:.3f} s" for name, p99 in took.items() if p99 > limit_s]
    worst = max(took.values(), default=0.0)
    return Verdict(f"p99 of selects below {limit_s * 1000:.0f} ms", f"{worst * 1000:.0f} ms", slow)


def p99_by_fault(book: Book) -> dict[str, float]:
    took: dict[str, list[float]] = defaultdict(list)
    for sample in book.samples:
        if sample.kind == "select free":
            took[book.fault_at(sample.at)].append(sample.took_s)
    return {name: quantile_s(times, 0.99) for name, times in sorted(took.items())}


def slots_hold(book: Book) -> Verdict:
    """Exact while Redis is there; and again one lease time after it was not."""
    held = [
        (at, count)
        for at, count in most_at_once(book.slots)
        if not book.was_hurt(Hurt.REDIS, at, 0.1, LEASE_S)
    ]
    most = max((count for _, count in held), default=0)
    over = [f"{count} at {at:.3f}" for at, count in held if count > SLOTS]
    return Verdict(f"at most {SLOTS} slots at once", f"{most} of {len(book.slots)} grants", over)


def minutes_hold(book: Book) -> Verdict:
    whole = {
        number: count
        for number, count in book.of_minute.items()
        if not any(
            span.began_at < (number + 1) * 60 and span.ended_at > number * 60
            for span in book.hurt(Hurt.REDIS)
        )
    }
    over = [f"{count} in minute {number}" for number, count in whole.items() if count > A_MINUTE]
    found = f"{max(whole.values())} in {len(whole)} minutes" if whole else NOTHING
    return Verdict(f"at most {A_MINUTE} grants a minute", found, over)


def cooldowns_hold(book: Book) -> Verdict:
    """One told before a fault holds through it; one told apart, from the end of the fault."""
    broken = []
    for told_at, until in book.cooldowns:
        known_at = told_at + HEARD_S
        for span in book.hurt(Hurt.REDIS):
            if span.holds(told_at, HEARD_S):
                known_at = max(known_at, span.ended_at + HEARD_S)
        broken += [
            f"granted at {at:.3f}, told {at - told_at:.3f} s before, {until - at:.3f} s left"
            for at in book.granted_while_cooled
            if known_at < at < until - 0.05
        ]
    found = f"{len(book.cooldowns)} cooldowns of {COOLED_S} s"
    return Verdict("no cooldown is violated", found, broken)


def edits_answered(book: Book) -> Verdict:
    """Saved, or told that it was not."""
    wrong = [
        f"{one.status} during {book.fault_at(one.at)} after {one.took_s:.1f} s: {one.detail}"
        for one in errors(book, ("edit",))
        if not (one.status == 503 and book.was_hurt(Hurt.DATABASE, one.at + one.took_s, 1, 1))
        and not (one.status == 503 and book.was_hurt(Hurt.DATABASE, one.at, 1, 1))
    ]
    asked = [one for one in book.samples if one.kind == "edit"]
    longest = max((one.took_s for one in asked), default=0.0)
    found = f"{len(book.edits)} of {len(asked)} saved, longest {longest:.1f} s"
    return Verdict("edits are saved or refused in words", found, wrong)


def answers_kept(book: Book) -> Verdict:
    asked = sum(one.kind == "repeated report" for one in book.samples)
    wrong = [
        text
        for told_at, text in book.other_answers
        if not book.was_hurt(Hurt.REDIS, told_at, 0.1, TAKEN_DOWN_S)
    ]
    return Verdict("a repeated report gets the first answer", f"{asked}", wrong)


def all_well(book: Book) -> Verdict:
    return Verdict("the system is whole after every fault", f"{len(book.spans)}", book.problems)


def turns_kept(book: Book, written: set[str]) -> Verdict:
    lost = {
        turn
        for turn, told_at in book.turns.items()
        if turn not in written and not book.was_hurt(Hurt.WORKER, told_at, WRITTEN_S, 0)
    }
    found = f"{len(written & set(book.turns))} of {len(book.turns)}"
    shown = [f"{one} told during {book.fault_at(book.turns[one])}" for one in lost]
    return Verdict("reported turns are in the database", found, shown)


def edits_kept(book: Book, saved: set[int]) -> Verdict:
    lost = [f"weight {weight}" for weight in book.edits if weight not in saved]
    return Verdict("saved edits are in the database", f"{len(book.edits)}", lost)


JUDGES: tuple[Callable[[Book], Verdict], ...] = (
    all_answered,
    no_errors,
    quick,
    slots_hold,
    minutes_hold,
    cooldowns_hold,
    edits_answered,
    answers_kept,
    all_well,
)
