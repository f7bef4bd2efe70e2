"""Several servers under the same load by turns, so that whatever else the machine does meanwhile
meets all of them. Medians of the rounds are what counts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any, NamedTuple

from benchmarks.load import Load, Measured, measure
from benchmarks.processor_time import listener, used_s
from benchmarks.servers import CLIENT_CPU, KEY


@dataclass(frozen=True)
class Subject:
    """Something that answers: where, what it is asked, and as whom."""

    port: int
    path: str
    body: Mapping[str, Any]
    key: str = KEY
    headers: Mapping[str, str] = field(default_factory=dict)

    def load(self, connections: int, seconds: float) -> Load:
        return Load(
            port=self.port,
            path=self.path,
            connections=connections,
            seconds=seconds,
            method="POST",
            body=json.dumps(self.body),
            headers={"authorization": f"Bearer {self.key}", **self.headers},
            cpu=CLIENT_CPU,
        )


class Medians(NamedTuple):
    """Of the rounds. ``cpu_us``: the server's processor time for one request; ``wrong`` answers
    are those of all rounds together."""

    rps: float
    p50_ms: float
    p99_ms: float
    first_ms: float
    cpu_us: float
    wrong: int


def by_turns(
    subjects: Mapping[str, Subject], connections: int, *, rounds: int, seconds: float
) -> dict[str, Medians]:
    rows: dict[str, list[tuple[Measured, float]]] = {name: [] for name in subjects}
    pids = {name: listener(subject.port) for name, subject in subjects.items()}
    for _ in range(rounds):
        for name, subject in subjects.items():
            before = used_s(pids[name])
            measured = measure(subject.load(connections, seconds))
            cpu_us = 1e6 * (used_s(pids[name]) - before) / max(1, measured.requests)
            rows[name].append((measured, cpu_us))
    return {name: _medians(row) for name, row in rows.items()}


def _medians(row: list[tuple[Measured, float]]) -> Medians:
    measured = [one for one, _ in row]
    return Medians(
        median(one.rps for one in measured),
        median(one.p50_ms for one in measured),
        median(one.p99_ms for one in measured),
        median(one.first_ms for one in measured),
        median(cpu_us for _, cpu_us in row),
        sum(one.wrong for one in measured),
    )


def line(name: str, found: Medians, *more: str) -> str:
    """One row of a table; ``more`` are its last columns."""
    wrong = f"   {found.wrong} wrong answers" if found.wrong else ""
    return (
        f"  {name:16} {found.rps:8.0f} req/s   p50 {found.p50_ms:7.3f} ms   "
        f"p99 {found.p99_ms:7.3f} ms   cpu {found.cpu_us:6.0f} us  " + "  ".join(more) + wrong
    )
