"""The metrics as text, for a scraper."""

from __future__ import annotations

import asyncio
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.exposition import generate_latest

from routeradmin.services.metering import families

if TYPE_CHECKING:
    from routeradmin.services.runtime import Runtime

PARTS_PER_SLICE = 50  # less than a millisecond; then the event loop serves requests


async def exposition(runtime: Runtime) -> bytes:
    """Everything, each family as it is when its turn comes."""
    parts = families.parts(runtime)
    page: list[bytes] = []
    while taken := list(islice(parts, PARTS_PER_SLICE)):
        page.append("".join(taken).encode())
        await asyncio.sleep(0)
    return b"".join([*page, generate_latest(_process())])


@cache
def _process() -> CollectorRegistry:
    """Memory, processor time and open files, as /proc tells them."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    return registry
