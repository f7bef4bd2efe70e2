"""Fixtures of the data plane's tests: no database, a clock that stands still."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from routeradmin.services.runtime import Runtime
from tests.conftest import FakeClock
from tests.dataplane.desk import Desk


@pytest.fixture
def desk(bare_runtime: Runtime, clock: FakeClock) -> Iterator[Desk]:
    async def sleep(seconds: float) -> None:  # time passes at once
        clock.advance(seconds)

    bare_runtime.sleep = sleep
    with asyncio.Runner() as runner:
        yield Desk(bare_runtime, runner)
