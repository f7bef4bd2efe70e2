"""Explanations and simulations: the decision's own code, without reserving anything."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

from routeradmin.engine.explain import explain_route
from routeradmin.engine.simulate import Assumption
from routeradmin.engine.simulate import simulate as draw
from routeradmin.services.keys import Key
from routeradmin.services.messages import Select, Simulate
from routeradmin.services.runtime import Runtime
from routeradmin.services.selecting import asked, resolve_allowed


def explain(runtime: Runtime, message: Select, key: Key) -> dict[str, Any]:
    """The explanation of a select body, as it is now.

    Raises ModelNotFound, RouteNotAllowed.
    """
    now = runtime.clock()
    request = asked(message, key)
    runtime.store.expire(now)
    resolved = resolve_allowed(runtime, request, key, now)
    # Not the runtime's own generator: explaining must not change what is selected next.
    draws = Random(runtime.rng.random())
    return explain_route(resolved, request, runtime.store, now, draws).as_json()


async def simulate(runtime: Runtime, message: Simulate, key: Key) -> dict[str, Any]:
    """Shares over ``draws`` decisions on assumed state; off the event loop, they take a while.

    Raises ModelNotFound, RouteNotAllowed.
    """
    now = runtime.clock()
    request = asked(message, key)
    runtime.store.expire(now)
    resolved = resolve_allowed(runtime, request, key, now)
    overlay = {
        name: Assumption(**assumed.model_dump()) for name, assumed in message.overlay.items()
    }
    result = await asyncio.to_thread(
        draw, resolved, request, runtime.store, overlay, message.draws, message.seed, now
    )
    return result.as_json()
