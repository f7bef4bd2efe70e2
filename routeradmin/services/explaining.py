"""Explanations and simulations: the decision's own code, without reserving anything."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

from routeradmin.engine.simulate import Assumed
from routeradmin.engine.simulate import simulate as draw
from routeradmin.services import affinity, circumstances
from routeradmin.services.asking import Headers, asking_of_message
from routeradmin.services.keys import Key
from routeradmin.services.messages import Select, Simulate
from routeradmin.services.runtime import Runtime


async def explain(
    runtime: Runtime, message: Select, key: Key, headers: Headers = ()
) -> dict[str, Any]:
    """The explanation of a select body, as it is now.

    Raises ModelNotFound, RouteNotAllowed.
    """
    now = runtime.clock()
    runtime.store.expire(now)
    asking = await asking_of_message(runtime, message, key, now, headers)
    session = affinity.named(message.session)
    await runtime.affinity.recall(runtime.store, asking.resolved, session, key.uid, now)
    # A copy of the generator: explaining says what select would do, and must not change it.
    draws = Random()
    draws.setstate(runtime.rng.getstate())
    return circumstances.explanation_of(runtime, asking, session, now, draws).as_json()


async def simulate(
    runtime: Runtime, message: Simulate, key: Key, headers: Headers = ()
) -> dict[str, Any]:
    """Shares over ``draws`` decisions on assumed state; off the event loop, since they take time.

    Raises ModelNotFound, RouteNotAllowed.
    """
    now = runtime.clock()
    runtime.store.expire(now)
    snapshot = runtime.current.snapshot
    asking = await asking_of_message(runtime, message, key, now, headers)
    simulation = await asyncio.to_thread(
        draw,
        snapshot,
        message.model,
        asking.request,
        runtime.store,
        now,
        overlay={
            name: Assumed(**assumed.model_dump()) for name, assumed in message.overlay.items()
        },
        draws=message.draws,
        seed=message.seed,
        resolved=None if asking.decision is None else asking.resolved,
    )
    found = simulation.as_json()
    if asking.decision is not None:
        found["explanation"]["intent"] = asking.decision.as_json()
    return found
