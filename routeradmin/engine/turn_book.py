"""Turns between their requests. Each has a version, and only who saw the newest may move it on.

Several requests may be about one turn at a time: two selects, a report and a select. Whoever loads
a turn gets a copy and its version, decides, and comes back with both; where another was faster
the decision is made again on what the turn has become. So nobody holds a lock while deciding.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

from routeradmin.engine.state import CandidateKey, Grant, Lease, Settlement
from routeradmin.engine.turn_state import Opening, TurnState

TURN_KEPT_S = 3600.0
TURNS_KEPT = 100_000  # of ordinary size; see ``weight_of``
ORDINARY_BYTES = 2048
ATTEMPT_BYTES = 1024
NAME_BYTES = 64  # of a text that the catalog has too
MARK_BITS = 20


class TurnMoved(Exception):
    """The turn went on since it was loaded: load it again and decide anew."""


class Claim(NamedTuple):
    """An attempt that was begun on a lease and is not among the turn's own attempts yet."""

    key: CandidateKey
    route_id: str
    tier: int
    lease_id: str
    at: float


class Kept(NamedTuple):
    """A turn as it stands. ``version`` says which of its changes was the last, and whose."""

    turn: TurnState | Opening
    version: int
    claim: Claim | None = None

    def copied(self) -> Kept:
        """One that its holder may change."""
        turn = self.turn
        return self if isinstance(turn, Opening) else self._replace(turn=turn.copied())


class Told(NamedTuple):
    """What a report came to: its answer, which repeats get too, and the turn as it is now (None:
    there is none to keep)."""

    answer: dict[str, Any]
    turn: TurnState | None


# Decides what a report's turn does next. Without effects: it is asked again where the lease or
# the turn had moved meanwhile. A settlement that is REPEATED was told to the turn before.
Tell = Callable[[Settlement, Kept | None], Told]


def claim_of(grant: Grant, lease: Lease) -> Claim:
    return Claim(lease.key, grant.route_id, grant.candidate.tier, lease.id, lease.granted_at)


class TurnBook:
    """At most ``TURNS_KEPT`` (fewer if they are large), each for ``TURN_KEPT_S`` after its last
    change; the oldest go first.

    ``mark`` tells this book's changes from those of other processes: a version is how many changes
    there were and the mark of who made the last, so that one version is never two states.
    """

    def __init__(self, mark: int = 0) -> None:
        self._mark = mark
        self._kept: OrderedDict[str, tuple[float, Kept]] = OrderedDict()
        self._weight = 0

    def __contains__(self, turn_id: str) -> bool:
        return turn_id in self._kept

    def ids(self) -> list[str]:
        return list(self._kept)

    def at(self, turn_id: str) -> tuple[float, Kept] | None:
        """When it was saved, and the turn itself, not to be changed."""
        return self._kept.get(turn_id)

    def load(self, turn_id: str, now: float) -> Kept | None:
        found = self._kept.get(turn_id)
        if found is None or now - found[0] >= TURN_KEPT_S:
            return None
        return found[1].copied()

    def has_moved(self, turn_id: str, version: int) -> bool:
        """One that is not here has not: its holder knows it best."""
        found = self._kept.get(turn_id)
        return found is not None and found[1].version != version

    def after(self, version: int) -> int:
        """The version that this book's change of that one makes."""
        return ((version >> MARK_BITS) + 1) << MARK_BITS | self._mark

    def save(self, turn: TurnState | Opening, now: float, version: int) -> bool:
        """``version`` is the one that was loaded, 0 for a new turn. False: it has moved."""
        if self.has_moved(turn.id, version):
            return False
        self.put(Kept(turn, self.after(version)), now)
        return True

    def begun(self, grant: Grant, lease: Lease, now: float) -> None:
        """The grant was given: what it is to keep of its turn is kept with it."""
        keep, version = grant.keep, self.after(grant.turn_version)
        if isinstance(keep, Opening):
            self.put(Kept(opened(keep, lease), version), now)
        elif keep is not None:
            self.put(Kept(keep.copied(), version, claim_of(grant, lease)), now)
        elif grant.turn_version:
            found = self._kept.get(lease.turn_id or "")
            if found is not None:
                self.put(Kept(found[1].turn, version, claim_of(grant, lease)), now)

    def drop(self, turn_id: str, version: int) -> None:
        """What is here under that version turned out to be nobody's."""
        if turn_id in self._kept and not self.has_moved(turn_id, version):
            self._weight -= weight_of(self._kept.pop(turn_id)[1].turn)

    def put(self, kept: Kept, now: float) -> None:
        turns, turn_id = self._kept, kept.turn.id
        before = turns.pop(turn_id, None)
        if before is not None:
            self._weight -= weight_of(before[1].turn)
        turns[turn_id] = (now, kept)
        self._weight += weight_of(kept.turn)
        while self._weight > TURNS_KEPT or next(iter(turns.values()))[0] < now - TURN_KEPT_S:
            self._weight -= weight_of(turns.popitem(last=False)[1][1].turn)
            if not turns:
                break


def weight_of(turn: TurnState | Opening) -> int:
    """How many ordinary turns' memory this one takes, about; it never changes while it is kept."""
    asked, size = turn.request, 0
    if asked.exclude:
        size += NAME_BYTES * len(asked.exclude)
    if asked.tags:
        size += sum(map(len, asked.tags))
    if asked.headers:
        size += sum(len(name) + len(value) for name, value in asked.headers)
    if asked.preferences is not None:
        size += sum(len(name) for names in asked.preferences[:3] for name in names)
    if isinstance(turn, TurnState):
        size += ATTEMPT_BYTES * len(turn.attempts)
    return 1 + size // ORDINARY_BYTES


def opened(opening: Opening, lease: Lease) -> Opening:
    """The opening with what its grant decided: whose turn id, on which candidate."""
    turn_id = lease.turn_id or lease.id
    return opening._replace(id=turn_id, key=lease.key, lease_id=lease.id, at=lease.granted_at)
