"""A simulated provider on a free port for each test, with a clock that stands still."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from routeradmin.adapters.simulated import SimulatedProvider, running_in_thread
from tests.adapters.simulated.raw import Raw


class Clock:
    """A clock that moves when a test says so."""

    def __init__(self) -> None:
        self.now_s = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def provider(clock: Clock) -> SimulatedProvider:
    return SimulatedProvider(now=clock)


@pytest.fixture
def base_url(provider: SimulatedProvider) -> Iterator[str]:
    with running_in_thread(provider=provider) as url:
        yield url


@pytest.fixture
def raw(base_url: str) -> Raw:
    """A client that shows what is really on the wire."""
    return Raw(base_url)
