"""Candidate states of this process: by key, and in rows beside the snapshot's tables."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from threading import RLock
from typing import Any

from routeradmin.engine.accounting import suspicious
from routeradmin.engine.objects import Deployment
from routeradmin.engine.snapshot import Candidate, Snapshot
from routeradmin.engine.state import CandidateKey, CandidateState
from routeradmin.engine.tables import Table

MATCHED_KEPT = 4096  # states of names that patterns took; the least recently used goes first
TABLES_KEPT = 4096


class LocalStates:
    """States are made when first asked for, keep their identity, and leave with their key.

    Keeps ``CandidateState.suspect`` true to its word: ``review`` after every change of a state.
    Finding a known state takes no lock; making and forgetting states does.
    """

    def __init__(self) -> None:
        self._lock = RLock()
        self._plain: dict[CandidateKey, CandidateState] = {}
        self._matched: OrderedDict[CandidateKey, CandidateState] = OrderedDict()
        self._rows: dict[Table, list[CandidateState]] = {}
        self._suspects: dict[CandidateKey, CandidateState] = {}
        # Where a table's suspects were at a version, which every change of their number moves on.
        self._version = 0
        self._places: dict[Table, tuple[int, tuple[int, ...]]] = {}
        self._deployments: dict[str, Deployment] = {}
        self._is_bound = False
        self._secret_versions: dict[str, int] = {}

    def __iter__(self) -> Iterator[CandidateState]:
        return iter([*self._plain.values(), *self._matched.values()])

    def of(self, candidate: Candidate) -> CandidateState:
        key = candidate.key
        state = self._plain.get(key)
        if state is not None:
            return state
        return self.at(key, candidate.credential.secret_version)

    def get(self, key: CandidateKey) -> CandidateState | None:
        return self._matched.get(key) if key.matched else self._plain.get(key)

    def at(self, key: CandidateKey, secret_version: int | None = None) -> CandidateState:
        """The state of a key; one never seen before starts healthy and idle."""
        with self._lock:
            state = self.get(key)
            if state is None:
                state = self._make(key, secret_version)
            elif key.matched:
                self._matched.move_to_end(key)
            return state

    def _make(self, key: CandidateKey, secret_version: int | None) -> CandidateState:
        if secret_version is None:
            secret_version = self._secret_versions.get(key.credential, 0)
        state = CandidateState(key, secret_version=secret_version)
        (self._matched if key.matched else self._plain)[key] = state
        self.review(state, 0.0)
        if key.matched:
            self._forget_least_recent(key)
        return state

    def renew(self, key: CandidateKey) -> None:
        """Its state is made anew when it is next asked for; who holds the old one holds nothing."""
        with self._lock:
            if (self._matched if key.matched else self._plain).pop(key, None) is not None:
                self._suspects.pop(key, None)
                self._rows.clear()
                self._places.clear()
                self._version += 1

    def row(self, table: Table) -> Sequence[CandidateState]:
        row = self._rows.get(table)
        if row is None:
            row = [self.of(candidate) for candidate in table.candidates]
            # States of matched names come and go: their rows are made anew each time.
            if not any(candidate.key.matched for candidate in table.candidates):
                self._remember(self._rows, table, row)
        return row

    def _remember(self, kept: dict[Table, Any], table: Table, value: Any) -> None:
        if not table.lasting:
            return
        with self._lock:
            if len(kept) >= TABLES_KEPT:
                del kept[next(iter(kept))]
            kept[table] = value

    def suspects(self, table: Table) -> Sequence[int]:
        if not self._suspects:
            return ()
        version, places = self._places.get(table, (-1, ()))
        if version != self._version:
            version, row = self._version, self.row(table)
            places = tuple(place for place, state in enumerate(row) if state.suspect)
            self._remember(self._places, table, (version, places))
        return places

    def review(self, state: CandidateState, now: float) -> None:
        """Settle whether anything could refuse this candidate."""
        deployment = self._deployments.get(state.key.deployment)
        suspect = deployment is None or suspicious(deployment, state, now)
        if suspect is not state.suspect or (suspect and state.key not in self._suspects):
            self._mark(state, suspect)

    def _mark(self, state: CandidateState, suspect: bool) -> None:
        state.suspect = suspect
        self._version += 1
        if not suspect:
            self._suspects.pop(state.key, None)
        elif self.get(state.key) is state:
            self._suspects[state.key] = state

    def suspected(self) -> list[CandidateState]:
        return list(self._suspects.values())

    def bind(self, snapshot: Snapshot, now: float) -> list[CandidateState]:
        """Keep what the snapshot still names; returns the states whose secret was replaced."""
        versions: dict[CandidateKey, int] = {
            CandidateKey(deployment.id, credential.id): credential.secret_version
            for deployment in snapshot.deployments.values()
            for credential in deployment.credentials
        }
        with self._lock:
            self._deployments = dict(snapshot.deployments)
            self._is_bound = True
            self._secret_versions = {key.credential: v for key, v in versions.items()}
            self._rows.clear()
            self._places.clear()
            self._version += 1
            for group in (self._plain, self._matched):
                for key in [k for k in group if k._replace(matched="") not in versions]:
                    del group[key]
                    self._suspects.pop(key, None)
            for state in self:
                self.review(state, now)
            return [state for state in self if self.outdated(state)]

    def names(self, key: CandidateKey) -> bool:
        """Whether the bound snapshot has this candidate; before the first one, any may be."""
        if not self._is_bound:
            return True
        return key.deployment in self._deployments and key.credential in self._secret_versions

    def outdated(self, state: CandidateState) -> bool:
        """Whether the state was earned with a secret that is not the catalog's any more."""
        return self._secret_versions.get(state.key.credential, 0) != state.secret_version

    def secret_version(self, key: CandidateKey) -> int:
        return self._secret_versions.get(key.credential, 0)

    def _forget_least_recent(self, newest: CandidateKey) -> None:
        over = len(self._matched) - MATCHED_KEPT
        if over <= 0:
            return
        idle = (key for key, state in self._matched.items() if not state.active and key != newest)
        for key in [key for key, _ in zip(idle, range(over), strict=False)]:
            del self._matched[key]
            self._suspects.pop(key, None)
