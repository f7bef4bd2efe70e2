"""A publish under load is seen whole or not at all."""

from __future__ import annotations

import threading
from random import Random

import pytest

from routeradmin.engine.request import SelectRequest
from routeradmin.engine.resolve import resolve
from routeradmin.engine.select import Pick, pick
from routeradmin.services import changes
from routeradmin.services.changes import Actor
from routeradmin.services.runtime import Runtime
from tests import factories as make

ADA = Actor("user:ada")
PUBLISHES, READERS = 1000, 8
PAIR = ("left", "right")


class Reader(threading.Thread):
    """Decides over and over, each time on one snapshot, and notes what does not fit together."""

    def __init__(self, runtime: Runtime, seed: int) -> None:
        super().__init__()
        self._runtime, self._rng = runtime, Random(seed)
        self.over = threading.Event()
        self.faults: list[str] = []
        self.digests: dict[int, str] = {}

    def run(self) -> None:
        latest = 0
        while not self.over.wait(0.001):  # lets the publisher have the interpreter
            snapshot = self._runtime.current.snapshot
            weights = {snapshot.deployments[id].weight for id in PAIR}
            if snapshot.revision < latest:
                self.faults.append(f"revision {snapshot.revision} after {latest}")
            if len(weights) != 1:
                self.faults.append(f"revision {snapshot.revision} holds {weights}")
            latest = snapshot.revision
            self.digests.setdefault(latest, snapshot.config_digest)
            resolved = resolve(snapshot, "chat")
            state, now = self._runtime.store, self._runtime.clock()
            found = pick(resolved, SelectRequest("chat"), state, now, self._rng)
            if not isinstance(found, Pick):
                self.faults.append(f"revision {latest}: nothing was eligible")
            elif found.candidate.deployment.weight not in weights:
                self.faults.append(f"revision {latest}: a candidate of another one was chosen")


def pair(weight: int) -> list[dict[str, object]]:
    return [make.deployment(id, weight=weight) for id in PAIR]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_thousand_publishes_are_never_seen_half_applied(runtime: Runtime) -> None:
    accounts = [make.account(auth_kind="anonymous", billing_kind="self-hosted")]
    targets = [make.target(f"t-{id}", serving_model_id=id) for id in PAIR]
    base = make.document(make.catalog(accounts=accounts, serving_models=pair(1), targets=targets))
    changes.replace_document(base, ADA)
    readers = [Reader(runtime, seed) for seed in range(READERS)]
    for reader in readers:
        reader.start()
    try:
        for number in range(PUBLISHES):
            both = make.document(
                {"format": "routeradmin.catalog/1", "serving_models": pair(2 + number)}
            )
            assert changes.replace_document(both, ADA).changed
    finally:
        for reader in readers:
            reader.over.set()
        for reader in readers:
            reader.join()
    assert [reader.faults[:3] for reader in readers] == [[]] * READERS
    assert runtime.current.revision == 1 + PUBLISHES
    told: dict[int, str] = {}
    for reader in readers:
        for revision, digest in reader.digests.items():
            assert told.setdefault(revision, digest) == digest
    assert len(set(told.values())) == len(told) > 10
