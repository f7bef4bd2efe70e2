"""The book of leases: who holds what, which are over, and what was answered to the first report."""

from __future__ import annotations

from collections import Counter, deque
from heapq import heapify, heappop, heappush
from typing import Any

from routeradmin.engine.state import (
    CandidateKey,
    CandidateState,
    Lease,
    LeaseFenced,
    LeaseNotFound,
    ReportState,
)

REMEMBER_S = 3600.0  # a closed lease is remembered this long, so that a repeated report is known
REMEMBER_COUNT = 100_000
MOST_OPEN = 250_000  # of one process: a caller that takes leases and forgets them has an end
_STALE_SLACK = 1024


class Record:
    """One lease with the state its slot belongs to. ``phase`` is what a report would meet."""

    __slots__ = ("answer", "lease", "phase", "state")

    def __init__(self, lease: Lease, state: CandidateState) -> None:
        self.lease = lease
        self.state = state
        self.phase = ReportState.OPEN
        self.answer: dict[str, Any] | None = None


class LeaseBook:
    """Leases by id, with a heap of ends. An end that was moved leaves a stale heap entry behind;
    stale entries are swept out when they outnumber the open leases."""

    def __init__(self) -> None:
        self._records: dict[str, Record] = {}
        self._ends: list[tuple[float, str]] = []
        self._closed: deque[tuple[float, str]] = deque()
        self.open_count = 0

    @property
    def is_full(self) -> bool:
        return self.open_count >= MOST_OPEN

    def add(self, lease: Lease, state: CandidateState) -> None:
        self._records[lease.id] = Record(lease, state)
        heappush(self._ends, (lease.expires_at, lease.id))
        self.open_count += 1

    def known(self, lease_id: str) -> Record | None:
        return self._records.get(lease_id)

    def open_by_key(self) -> Counter[CandidateKey]:
        """How many leases of this book each candidate carries."""
        return Counter(record.lease.key for record in self.open_records())

    def open_records(self) -> list[Record]:
        return [one for one in self._records.values() if one.phase is ReportState.OPEN]

    def find(self, lease_id: str, generation: int | None = None) -> Record:
        """Raises LeaseNotFound; LeaseFenced where a generation is given and is not the lease's."""
        record = self._records.get(lease_id)
        if record is None:
            raise LeaseNotFound(f"No lease {lease_id!r}: it was never issued, or is long over.")
        if generation is not None and generation != record.lease.generation:
            raise LeaseFenced(
                f"Lease {lease_id!r} is not of generation {generation}: select again."
            )
        return record

    def extend(self, record: Record, expires_at: float) -> Lease:
        record.lease = record.lease._replace(expires_at=expires_at)
        heappush(self._ends, (expires_at, record.lease.id))
        self._sweep()
        return record.lease

    def close(self, record: Record, phase: ReportState, now: float) -> None:
        """End an open lease; the record stays for reports that come late or twice."""
        record.phase = phase
        self.open_count -= 1
        closed, records = self._closed, self._records
        closed.append((now, record.lease.id))
        while closed and (closed[0][0] < now - REMEMBER_S or len(closed) > REMEMBER_COUNT):
            records.pop(closed.popleft()[1], None)
        self._sweep()

    def forget_next(self) -> None:
        """Let go of the open lease that ends first, where it is in another book too."""
        while self._ends:
            end, lease_id = heappop(self._ends)
            record = self._records.get(lease_id)
            if record is None or record.phase is not ReportState.OPEN:
                continue
            if record.lease.expires_at == end:  # else it was renewed, and stands further behind
                del self._records[record.lease.id]
                self.open_count -= 1
                return

    def due(self, now: float) -> list[Record]:
        """Open leases whose time is over, taken off the heap; the caller closes them."""
        ends = self._ends
        over: dict[str, Record] = {}  # by id: an end that was moved away and back is there twice
        while ends and ends[0][0] <= now:
            record = self._records.get(heappop(ends)[1])
            if (
                record is not None
                and record.phase is ReportState.OPEN
                and record.lease.expires_at <= now
            ):
                over[record.lease.id] = record
        return list(over.values())

    @property
    def next_end(self) -> float:
        """No lease ends before this; infinity without one."""
        return self._ends[0][0] if self._ends else float("inf")

    def _sweep(self) -> None:
        if len(self._ends) <= 2 * self.open_count + _STALE_SLACK:
            return
        records = self._records

        def current(end: tuple[float, str]) -> bool:
            record = records.get(end[1])
            return (
                record is not None
                and record.phase is ReportState.OPEN
                and record.lease.expires_at == end[0]
            )

        self._ends = [end for end in set(self._ends) if current(end)]
        heapify(self._ends)
