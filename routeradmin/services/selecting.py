"""Select: a lease on the deployment to use now, as one step of a turn."""

from __future__ import annotations

from random import Random
from typing import Any

from routeradmin.engine.describe import utc_text
from routeradmin.engine.explain import explain_route
from routeradmin.engine.objects import AuthKind, Credential
from routeradmin.engine.refusal import refuse
from routeradmin.engine.state import Grant, Lease
from routeradmin.engine.turn import Halt, Try, Turn, Wait
from routeradmin.services import turns
from routeradmin.services.asking import request_of, resolve_allowed
from routeradmin.services.keys import Key
from routeradmin.services.messages import Select
from routeradmin.services.refusals import Refused, TurnHalted, TurnWaiting
from routeradmin.services.runtime import Runtime


async def select(
    runtime: Runtime, message: Select, key: Key, request_id: str = ""
) -> dict[str, Any]:
    """The answer of ``POST /api/v1/select``.

    Raises ModelNotFound, RouteNotAllowed, Refused; with a turn also TurnNotFound, TurnMismatch,
    TurnHalted, TurnWaiting, TurnBusy.
    """
    now = runtime.clock()
    runtime.store.expire(now)
    if message.turn is None:
        request = request_of(message, key)
        turn = Turn.start(turns.new_id(), resolve_allowed(runtime, request, key, now), request, now)
    else:
        turn = await turns.load_for(runtime, message, key, now)
    before = Random()
    if message.explain:
        before.setstate(runtime.rng.getstate())
    step, lease = await take(runtime, turn, key, request_id)
    explanation = explained(runtime, turn, step, before) if message.explain else None
    return answer(runtime, message, turn, step, lease, explanation)


async def take(runtime: Runtime, turn: Turn, key: Key, request_id: str) -> tuple[Try, Lease]:
    """Go on with the turn until a slot is taken. Waits only where the route says to.

    Raises Refused, TurnHalted, TurnWaiting.
    """
    while True:
        now = runtime.clock()
        step = turn.next(runtime.store, now, runtime.rng)
        if isinstance(step, Try):
            lease = await reserve(runtime, turn, step, key, now)
            if lease is None:
                turn.lost(step.candidate.key)
                continue
            turn.begin(step, now, lease.id)
            await turns.save(runtime, turn, now)
            return step, lease
        if isinstance(step, Halt):
            await end(runtime, turn, step, now, request_id)
        elif step.kind == "round":
            await turns.save(runtime, turn, now)
            raise TurnWaiting(step.until - now)
        else:
            await wait(runtime, step, now)


async def reserve(runtime: Runtime, turn: Turn, step: Try, key: Key, now: float) -> Lease | None:
    request = turn.state.request
    grant = Grant(
        step.candidate,
        key.uid,
        request.lease_ttl_s,
        request.estimate,
        step.resolved.route.id,
        turn.policy.id,
        turn.state.id,
        step.cursor,
    )
    return await runtime.store.reserve(grant, now)


async def wait(runtime: Runtime, step: Wait, now: float) -> None:
    """Sit out a wait for recovery; the caller's request stays open meanwhile."""
    await runtime.sleep(max(0.0, step.until - now))
    runtime.store.expire(runtime.clock())


async def end(runtime: Runtime, turn: Turn, halt: Halt, now: float, request_id: str) -> None:
    """Always raises: Refused for a turn without attempts, TurnHalted for one with some."""
    if not turn.state.attempts:
        refusal = halt.refusal or refuse(turn.resolved, turn.state.request, runtime.store, now)
        raise Refused(refusal)
    await turns.save(runtime, turn, now)
    turns.record(runtime, turn, request_id=request_id)
    raise TurnHalted(halt.halt.value if halt.halt else "exhausted")


def explained(runtime: Runtime, turn: Turn, step: Try, draws: Random) -> dict[str, Any]:
    """The explanation of what was chosen; a turn may have left its first choices behind."""
    now = runtime.clock()
    found = explain_route(step.resolved, turn.state.request, runtime.store, now, draws).as_json()
    candidate = step.candidate
    return {
        **found,
        "selected_target_id": candidate.target.id,
        "selected_credential_id": candidate.credential.id,
    }


def answer(
    runtime: Runtime,
    message: Select,
    turn: Turn,
    step: Try,
    lease: Lease,
    explanation: dict[str, Any] | None,
) -> dict[str, Any]:
    candidate, resolved = step.candidate, step.resolved
    deployment, credential = candidate.deployment, candidate.credential
    return {
        "lease_id": lease.id,
        "generation": lease.generation,
        "expires_at": utc_text(lease.expires_at),
        "turn": turn.state.id,
        "attempt": len(turn.state.attempts),
        "route": resolved.route.id,
        "deployment": deployment.id,
        "credential": credential.id,
        "provider": deployment.provider.id,
        "model": candidate.upstream_name,
        "protocol": protocol_for(message, deployment.protocol, deployment.protocols),
        "base_url": deployment.endpoint.base_url,
        "auth": auth(runtime, credential, message.secret),
        "strategy": resolved.route.strategy,
        "revision": resolved.snapshot.revision,
        "config_digest": resolved.snapshot.config_digest,
        "explanation": explanation,
    }


def protocol_for(message: Select, declared: str, spoken: tuple[str, ...]) -> str:
    """The protocol to speak: the one the caller names if the deployment speaks it."""
    return message.api if message.api is not None and message.api in spoken else declared


def auth(runtime: Runtime, credential: Credential, with_secret: bool) -> dict[str, Any]:
    kind = credential.auth_kind
    header = None
    if kind is AuthKind.API_KEY:
        header = credential.api_key_header
    elif kind is not AuthKind.ANONYMOUS:
        header = "authorization"
    secret = runtime.secrets.get(credential) if with_secret else None
    return {
        "kind": kind.value,
        "header": header,
        "secret": secret.reveal() if secret is not None else None,
    }
