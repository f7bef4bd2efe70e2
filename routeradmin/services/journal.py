"""What happened, on its way to the database: a bounded queue that never makes anyone wait."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeAlias

import orjson

from routeradmin.engine.state import Change

if TYPE_CHECKING:
    from routeradmin.services.served import Served

MOST_CHANGES = 20_000
MOST_TURNS = 20_000  # of ordinary size; see ``surplus_of``
ORDINARY_BYTES = 2048
ATTEMPT_BYTES = 1024

# In the shape of GET /api/v1/turns/{id}, or what can still be put into it.
TurnRecord: TypeAlias = "Mapping[str, Any] | Served"


@dataclass(frozen=True, slots=True)
class Batch:
    """What one write takes: changes and turn records, oldest first."""

    changes: tuple[Change, ...]
    turns: tuple[TurnRecord, ...]

    def __bool__(self) -> bool:
        return bool(self.changes or self.turns)

    def halves(self) -> tuple[Batch, ...]:
        """None of a single record; changes first."""
        if self.changes and self.turns:
            return Batch(self.changes, ()), Batch((), self.turns)
        changes, turns = len(self.changes) // 2, len(self.turns) // 2
        if not (changes or turns):
            return ()
        return (
            Batch(self.changes[:changes], self.turns[:turns]),
            Batch(self.changes[changes:], self.turns[turns:]),
        )


class Journal:
    """Appending is safe from any thread and drops, counted, when the writer is far behind."""

    def __init__(self, most_changes: int = MOST_CHANGES, most_turns: int = MOST_TURNS) -> None:
        self._changes: deque[Change] = deque()
        self._turns: deque[TurnRecord] = deque()
        self._surplus = 0
        self._counting = Lock()
        self._most_changes = most_changes
        self._most_turns = most_turns
        self.dropped_changes = 0
        self.dropped_turns = 0
        self.is_state_dirty = False

    def heard(self, changes: Sequence[Change]) -> None:
        """A state store's listener."""
        self.is_state_dirty = True
        room = self._most_changes - len(self._changes)
        self._changes.extend(changes[: max(room, 0)])
        self.dropped_changes += max(len(changes) - max(room, 0), 0)

    def mark_state(self) -> None:
        """A candidate's durable state changed without a change of its own to tell."""
        self.is_state_dirty = True

    def record(self, turn: TurnRecord) -> None:
        """A finished turn."""
        surplus = surplus_of(turn)
        if len(self._turns) + self._surplus + surplus >= self._most_turns:
            self.dropped_turns += 1
        else:
            self._turns.append(turn)
            if surplus:
                self._count(surplus)

    def _count(self, surplus: int) -> None:
        with self._counting:
            self._surplus += surplus

    @property
    def waiting(self) -> int:
        return len(self._changes) + len(self._turns)

    def take(self) -> Batch:
        """Everything that waits; the writer gives it back with ``give_back`` when it fails."""
        batch = Batch(tuple(_emptied(self._changes)), tuple(_emptied(self._turns)))
        self._count(-sum(map(surplus_of, batch.turns)))
        return batch

    def give_back(self, batch: Batch) -> None:
        """Put a batch that was not written in front again; what no longer fits is dropped."""
        changes, turns = list(batch.changes), list(batch.turns)
        over = max(len(changes) + len(self._changes) - self._most_changes, 0)
        self.dropped_changes += over
        self._changes.extendleft(reversed(changes[over:]))
        room = self._most_turns - len(self._turns) - self._surplus
        for turn in reversed(turns):
            surplus = surplus_of(turn)
            room -= 1 + surplus
            if room < 0:
                self.dropped_turns += 1
            else:
                self._turns.appendleft(turn)
                self._count(surplus)

    def drop(self, batch: Batch) -> None:
        """Count a batch that nobody will ever be able to write."""
        self.dropped_changes += len(batch.changes)
        self.dropped_turns += len(batch.turns)


def surplus_of(turn: TurnRecord) -> int:
    """How many more ordinary turns' memory this one takes, about; the same at every call."""
    if not isinstance(turn, dict):  # answered at once: nothing in it varies
        return 0
    size = ATTEMPT_BYTES * max(len(turn.get("attempts") or ()) - 1, 0)
    if routing := turn.get("routing"):
        size += len(orjson.dumps(routing))
    return size // ORDINARY_BYTES


def _emptied(queue: deque[Any]) -> list[Any]:
    taken = []
    while True:
        try:
            taken.append(queue.popleft())
        except IndexError:
            return taken
