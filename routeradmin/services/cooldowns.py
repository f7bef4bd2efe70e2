"""Cooldowns by hand: people set, extend and clear them, with a reason; every one is audited.

State changes on the event loop alone: called from a thread of Django's, these functions go there
and come back when the effect is visible.
"""

from __future__ import annotations

from collections.abc import Sequence

from asgiref.sync import async_to_sync

from routeradmin.engine.state import CandidateKey, Change
from routeradmin.services import publishing
from routeradmin.services import runtime as runtimes
from routeradmin.services.changes.commit import Actor, Reported, audit
from routeradmin.services.changes.errors import NotFound
from routeradmin.services.runtime import Runtime


def keys_of(runtime: Runtime, deployment: str, credential: str | None) -> list[CandidateKey]:
    """The deployment's candidates, those of one credential where it is given.

    A deployment behind a pattern has one for each name that was asked for. Raises NotFound.
    """
    known = runtime.current.snapshot.deployments.get(deployment)
    if known is None:
        raise NotFound("deployments", deployment)
    credentials = [one.id for one in known.credentials]
    if credential is not None and credential not in credentials:
        raise NotFound("credentials", credential)
    wanted = {credential} if credential is not None else set(credentials)
    keys = {CandidateKey(deployment, one) for one in credentials if one in wanted}
    keys |= {
        state.key
        for state in runtime.store.states()
        if state.key.deployment == deployment and state.key.credential in wanted
    }
    return sorted(keys)


def set_by_hand(
    deployment: str, credential: str | None, seconds: float, by: Actor, reason: str = ""
) -> list[Change]:
    """Put candidates to rest from now on; one that rests longer already stays as it is.

    Raises NotFound, ValueError unless ``seconds`` is finite and above 0.
    """
    runtime = runtimes.get()
    keys = keys_of(runtime, deployment, credential)

    async def on_the_loop() -> list[Change]:
        now = runtime.clock()
        store, person = runtime.store, person_of(by)
        return [await store.set_cooldown(key, seconds, person, reason, now) for key in keys]

    changes = async_to_sync(on_the_loop)()
    _audit("set-cooldown", [change.key for change in changes], {"seconds": seconds}, by, reason)
    return changes


def clear(deployment: str, credential: str | None, by: Actor, reason: str = "") -> list[Change]:
    """End cooldowns, set levels and counts to 0 and health to healthy; the changes that made.

    Raises NotFound.
    """
    runtime = runtimes.get()
    keys = keys_of(runtime, deployment, credential)

    async def on_the_loop() -> list[Change]:
        now = runtime.clock()
        cleared = [await runtime.store.clear(key, person_of(by), now) for key in keys]
        return [change for change in cleared if change is not None]

    changes = async_to_sync(on_the_loop)()
    _audit("clear-cooldown", [change.key for change in changes], {}, by, reason)
    return changes


def person_of(by: Actor) -> str:
    """``user:NAME``, the word that state knows for everything done by hand."""
    return f"user:{by.name.partition(':')[2] or by.name}"


def _audit(
    action: str, keys: Sequence[CandidateKey], facts: dict[str, float], by: Actor, reason: str
) -> None:
    changes = {name: [None, value] for name, value in facts.items()}
    reports = [Reported(action, "cooldowns", str(key), changes) for key in keys]
    audit(reports, by, publishing.moment(runtimes.get()), reason)
