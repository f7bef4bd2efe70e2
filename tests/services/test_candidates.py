"""The state document's candidates: shape, times, effective state."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from datetime import datetime

import pytest

from routeradmin.engine.state import CandidateKey
from routeradmin.services import candidates, changes, live
from routeradmin.services.runtime import Runtime
from tests import factories as make

KEY = CandidateKey("acme-large", "acme-key")


@pytest.fixture
def loaded(runtime: Runtime) -> Runtime:
    values = make.catalog(
        serving_models=[
            make.deployment(max_parallel_requests=0, rpm_limit=60),
            make.deployment("loose", admin_state="draining"),
        ]
    )
    changes.replace_document(make.document(values), changes.Actor("user:ada"))
    return runtime


@pytest.fixture
def new_york(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def test_a_candidate_never_used_is_idle_and_at_its_limit_of_zero(loaded: Runtime) -> None:
    row, loose = live.state_json(loaded)["candidates"]
    assert (row["state"], row["active"], row["rpm"]["used"]) == ("at-limit", 0, 0)
    assert row["routes"] == ["chat"]
    assert row["latency_ms"] == {"ema": None, "p50": None, "p95": None, "ttft_p50": None}
    assert (loose["state"], loose["admin_state"], loose["routes"]) == ("draining", "draining", [])


def test_the_server_zone_shifts_no_time(loaded: Runtime, new_york: None) -> None:
    assert os.environ["TZ"] == "America/New_York"
    asyncio.run(loaded.store.set_cooldown(KEY, 600, "user:ada", "", loaded.clock()))
    document = live.state_json(loaded)
    cooldown = document["candidates"][0]["cooldown"]
    assert cooldown["remaining_s"] == 600
    assert document["now"] == "2026-01-01T00:00:00.000Z"
    until = datetime.fromisoformat(cooldown["until"])
    assert until.timestamp() == loaded.clock() + 600


def test_an_elapsed_cooldown_is_no_cooldown(loaded: Runtime) -> None:
    now = loaded.clock()
    asyncio.run(loaded.store.set_cooldown(KEY, 1, "user:ada", "", now))
    rows = candidates.candidates_json(loaded.current.snapshot, loaded.store.states(), now + 2)
    assert rows[0]["cooldown"] is None


@pytest.mark.parametrize(("share", "wanted"), [(0.5, 51), (0.95, 96), (0.0, 1)])
def test_percentiles_are_of_the_nearest_rank(share: float, wanted: float) -> None:
    assert candidates.percentile([float(n) for n in range(100, 0, -1)], share) == wanted


def test_no_samples_have_no_percentile() -> None:
    assert candidates.percentile([], 0.5) is None
