"""Explanations and simulations: the decision's own code, without reserving anything."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

from routeradmin.engine.explain import explain_route
from routeradmin.engine.simulate import Assumed
from routeradmin.engine.simulate import simulate as draw
from routeradmin.services.asking import request_of, resolve_allowed
from routeradmin.services.keys import Key
from routeradmin.services.messages import Select, Simulate
from routeradmin.services.runtime import Runtime


def explain(runtime: Runtime, message: Select, key: Key) -> dict[str, Any]:
    """The explanation of a select body, as it is now.

    Raises ModelNotFound, RouteNotAllowed.
    """
    now = runtime.clock()
    runtime.store.expire(now)
    request = request_of(message, key)
    resolved = resolve_allowed(runtime, request, key, now)
    # A copy of the generator: explaining says what select would do, and must not change it.
    draws = Random()
    draws.setstate(runtime.rng.getstate())
    return explain_route(resolved, request, runtime.store, now, draws).as_json()


async def simulate(runtime: Runtime, message: Simulate, key: Key) -> dict[str, Any]:
    """Shares over ``draws`` decisions on assumed state; off the event loop, since they take time.

    Raises ModelNotFound, RouteNotAllowed.
    """
    now = runtime.clock()
    runtime.store.expire(now)
    request = request_of(message, key)
    resolve_allowed(runtime, request, key, now)
    simulation = await asyncio.to_thread(
        draw,
        runtime.current.snapshot,
        message.model,
        request,
        runtime.store,
        now,
        overlay={
            name: Assumed(**assumed.model_dump()) for name, assumed in message.overlay.items()
        },
        draws=message.draws,
        seed=message.seed,
    )
    return simulation.as_json()
