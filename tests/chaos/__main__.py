"""``python -m tests.chaos``: random faults under load, and whether every promise was kept.

``CHAOS_S`` seconds (300) of faults drawn with ``CHAOS_SEED`` (printed; random if not given);
``CHAOS_FAULTS``: only those named, separated by commas. For machines that are busy with other
things: ``CHAOS_WORKERS`` (4), and ``CHAOS_REDIS_LIMIT_MS`` (40), for there Redis seems gone now and
then, which is printed as "redis late" and excused like Redis gone. Ends with 1 when a promise was
broken.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import sys
import time
from collections.abc import Callable
from random import Random

import psycopg

from tests.chaos import judging
from tests.chaos.book import Book, Span, quantile_s
from tests.chaos.faults import FAULTS, Fault, Hurt
from tests.chaos.judging import Verdict
from tests.chaos.load import LEASE_S, Traffic
from tests.chaos.stage import Stage, staged

WORKERS = int(os.environ.get("CHAOS_WORKERS", "4"))
CALM_S = 3.0
WHOLE_LIMIT_S = 30.0
APART = "redis late"  # nobody did anything to it
LEASE_MARGIN_S = 1.0
SPARE_EVERY, SPARED = 3, 0  # minutes
LONGEST_S = 15.0  # that a fault of Redis lasts, with what it takes to be whole again


def main() -> None:
    lasts_s = float(os.environ.get("CHAOS_S", "300"))
    seed = int(os.environ.get("CHAOS_SEED") or secrets.randbelow(10**6))
    named = [name.strip() for name in os.environ.get("CHAOS_FAULTS", "").split(",") if name]
    faults = [fault for fault in FAULTS if not named or fault.name in named]
    if not faults:
        sys.exit(f"no such faults; there are: {', '.join(fault.name for fault in FAULTS)}")
    print(f"chaos for {lasts_s:g} s, seed {seed}: CHAOS_S={lasts_s:g} CHAOS_SEED={seed} make chaos")
    with staged(WORKERS) as stage:
        book = asyncio.run(play(stage, lasts_s, seed, faults))
        found = [*judging.verdicts(book), *at_the_end(stage, book)]
        show(book, found)
        broken = any(verdict.broken for verdict in found)
        if broken:
            print(f"\nlast lines of the log:\n{tail(stage)}")
    sys.exit(1 if broken else 0)


async def play(stage: Stage, lasts_s: float, seed: int, faults: list[Fault]) -> Book:
    book, rng = Book(), Random(seed)
    traffic = Traffic(stage.server.address, book, seed)
    running = asyncio.create_task(traffic.run())
    ends = time.monotonic() + lasts_s
    await asyncio.sleep(CALM_S)
    left: list[Fault] = []
    while time.monotonic() < ends:
        left = left or rng.sample(faults, len(faults))  # every kind, in an order of chance
        now = time.time()
        fault = first_allowed(left, now) or first_allowed(rng.sample(faults, len(faults)), now)
        left = [one for one in left if one is not fault]
        if fault is not None:
            await suffer(stage, book, fault, rng)
        await traffic.repeat_reports()
        await asyncio.sleep(CALM_S)
    traffic.stop()
    await running
    # A machine too busy to answer within the limit is a fault of its own: told, and excused.
    for began_at, ended_at in stage.apart():
        if not book.was_hurt(Hurt.REDIS, began_at, 0.1):
            book.spans.append(Span(APART, frozenset({Hurt.REDIS}), began_at, ended_at))
    return book


def first_allowed(left: list[Fault], now: float) -> Fault | None:
    """Of every third minute Redis sees all: what is limited by the minute is judged by these."""
    soon = int((now + LONGEST_S) // 60)
    if SPARED in (int(now // 60) % SPARE_EVERY, soon % SPARE_EVERY):
        return next((fault for fault in left if Hurt.REDIS not in fault.hurts), None)
    return left[0]


async def suffer(stage: Stage, book: Book, fault: Fault, rng: Random) -> None:
    began_at, took = time.time(), time.monotonic()
    await asyncio.to_thread(fault.begin, stage, rng)
    await asyncio.sleep(rng.uniform(2, 6))
    await asyncio.to_thread(fault.end, stage)
    ended_at = time.time()
    if not await holds(stage.is_whole, WHOLE_LIMIT_S):
        beats = stage.beats()
        book.problems.append(f"{fault.name}: not whole {WHOLE_LIMIT_S:g} s later: {beats}")
    book.spans.append(Span(fault.name, fault.hurts, began_at, time.time()))
    print(
        f"  {fault.name:18} {time.monotonic() - took:5.1f} s, "
        f"whole again {time.time() - ended_at:4.1f} s after its end",
        flush=True,
    )


async def holds(condition: Callable[[], bool], limit_s: float) -> bool:
    """Whether it comes true in time."""
    ends = time.monotonic() + limit_s
    while not await asyncio.to_thread(condition):
        if time.monotonic() > ends:
            return False
        await asyncio.sleep(0.1)
    return True


def at_the_end(stage: Stage, book: Book) -> list[Verdict]:
    return [slots_free(stage), one_revision(stage), *kept(stage, book)]


def slots_free(stage: Stage) -> Verdict:
    """Those of killed workers' own calls have leases of two minutes, and go with these."""
    limit_s = LEASE_S + LEASE_MARGIN_S
    began = time.monotonic()
    ends = time.time() + limit_s

    def are_free() -> bool:
        over = stage.open_leases(ends - time.time()) == 0
        return over and stage.redis.slots_taken() == stage.open_leases(float("inf"))

    found = asyncio.run(holds(are_free, limit_s))
    took = f"{time.monotonic() - began:.1f} s"
    left = f"{stage.redis.slots_taken()} taken by {stage.open_leases(float('inf'))} leases"
    promise = f"no slot is taken {LEASE_S:g} s after the last request"
    return Verdict(promise, took, [] if found else [left])


def one_revision(stage: Stage) -> Verdict:
    """Of those who live: the last word of a killed worker stays in the list for a while."""
    at = [beat["revision"] for beat in stage.beats()]
    newest = max(at, default=0)
    fine = at == [newest] * stage.workers and newest >= stage.least_revision
    return Verdict("all serve the newest revision", f"{newest}", [] if fine else [str(at)])


def kept(stage: Stage, book: Book) -> list[Verdict]:
    ends = time.monotonic() + judging.WRITTEN_S  # the last ones may be on their way
    with psycopg.connect(stage.database.url, autocommit=True) as connection:
        while True:
            found = connection.execute("SELECT uid FROM journal_turn").fetchall()
            turns = {uid for (uid,) in found}
            if turns.issuperset(book.turns) or time.monotonic() > ends:
                break
            time.sleep(0.1)
        documents = connection.execute("SELECT document FROM catalog_revision").fetchall()
    saved = {
        entry.get("weight", 1)
        for (document,) in documents
        for entry in json.loads(document)["serving_models"]
        if entry["id"] == "edited"
    }
    return [judging.turns_kept(book, turns), judging.edits_kept(book, saved)]


def show(book: Book, found: list[Verdict]) -> None:
    print("\nselects, by what was going on at their beginning")
    for name, p99_s in judging.p99_by_fault(book).items():
        took = [
            one.took_s
            for one in book.samples
            if one.kind == "select free" and book.fault_at(one.at) == name
        ]
        print(
            f"  {name:18} {len(took):6}   p50 {quantile_s(took, 0.5) * 1000:6.1f} ms   "
            f"p99 {p99_s * 1000:6.1f} ms   longest {max(took) * 1000:6.1f} ms"
        )
    print("\npromises")
    for promise, what, broken in found:
        word = "BROKEN" if broken else "kept" if what != judging.NOTHING else "-"
        print(f"  {word:6}  {promise}: {what}")
        for line in broken[: judging.MOST_SHOWN]:
            print(f"          {line}")
        if len(broken) > judging.MOST_SHOWN:
            print(f"          and {len(broken) - judging.MOST_SHOWN} more")


def tail(stage: Stage) -> str:
    return "\n".join(stage.server.log.read_text().splitlines()[-40:])


if __name__ == "__main__":
    main()
