"""The metrics as text, for a scraper."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from functools import cache
from itertools import chain, islice
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.exposition import generate_latest

from routeradmin.services.metering import families
from routeradmin.services.metering.siblings import marked, merged, roll_call

if TYPE_CHECKING:
    from routeradmin.services.runtime import Runtime

PARTS_PER_SLICE = 50  # less than a millisecond; then the event loop serves requests


async def exposition(runtime: Runtime) -> bytes:
    """Everything, each family as it is when its turn comes; of all workers behind the port."""
    if runtime.siblings is None:
        return await own_page(runtime)
    others = await runtime.siblings.ask()
    own = await own_page(runtime)
    answered = {number: page is not None for number, page in others.items()}
    roll = roll_call(answered | {runtime.siblings.number: True})
    pages = [page for page in others.values() if page is not None]
    return await asyncio.to_thread(merged, [own, *pages, roll])


async def own_page(runtime: Runtime, *, with_shared: bool = True) -> bytes:
    """Of this process. ``with_shared``: with what every worker would say alike, unmarked."""
    page: list[bytes] = []
    if with_shared:
        page += [part async for part in _sliced(families.shared(runtime))]
    number = runtime.siblings.number if runtime.siblings else None
    process = generate_latest(_process()).decode()
    async for part in _sliced(chain(families.own(runtime), (process,))):
        page.append(part if number is None else marked(part, number))
    return b"".join(page)


async def _sliced(parts: Iterator[str]) -> AsyncIterator[bytes]:
    while taken := list(islice(parts, PARTS_PER_SLICE)):
        yield "".join(taken).encode()
        await asyncio.sleep(0)


@cache
def _process() -> CollectorRegistry:
    """Memory, processor time and open files, as /proc tells them."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    return registry
