"""Looking at a deployment now, because a person asks: a probe by hand, a test in steps.

A probe's verdict counts like that of a scheduled one. A test changes nothing: it says how far a
request gets. Both run on the event loop and come back to the thread that called.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from asgiref.sync import async_to_sync

from routeradmin.engine.objects import Credential, Deployment, ProbeMode
from routeradmin.engine.state import CandidateKey, Outcome
from routeradmin.services import probing, publishing
from routeradmin.services import runtime as runtimes
from routeradmin.services.changes.commit import Actor, Reported, audit
from routeradmin.services.changes.errors import NotFound
from routeradmin.services.probing import Asking
from routeradmin.services.runtime import Runtime


@dataclass(frozen=True, slots=True)
class Seen:
    """What one credential's probe met; ``mode`` ``chat`` may have been billed."""

    credential: str
    mode: str
    duration_ms: float
    outcome: Outcome


def find(runtime: Runtime, deployment_id: str) -> Deployment:
    """Raises NotFound."""
    found = runtime.current.snapshot.deployments.get(deployment_id)
    if found is None:
        raise NotFound("deployments", deployment_id)
    return found


def chosen(deployment: Deployment, credential_id: str | None) -> Sequence[Credential]:
    """The credential of that id, or all. Raises NotFound."""
    if credential_id is None:
        return deployment.credentials
    named = [one for one in deployment.credentials if one.id == credential_id]
    if not named:
        raise NotFound("credentials", credential_id)
    return named


def probe(
    deployment_id: str, by: Actor, *, credential_id: str | None = None, reason: str = ""
) -> list[Seen]:
    """Ask once with each credential, at the same time; what was seen is in force afterwards.

    Asks as the deployment's probe does; where that is off, for the model list, which costs
    nothing. Raises NotFound.
    """
    runtime = runtimes.get()
    deployment = find(runtime, deployment_id)
    askings = [_asking(deployment, one) for one in chosen(deployment, credential_id)]

    async def on_the_loop() -> list[Seen]:
        return list(await asyncio.gather(*(_seen(asking, runtime) for asking in askings)))

    seen = async_to_sync(on_the_loop)()
    note("probe", deployment_id, by, reason)
    return seen


def _asking(deployment: Deployment, credential: Credential) -> Asking:
    wanted = deployment.probe
    has_pattern = probing.is_pattern(deployment)
    if wanted.mode is ProbeMode.OFF or has_pattern:
        wanted = replace(wanted, mode=ProbeMode.MODELS)
    key = (wanted.mode.value, deployment.id, credential.id, wanted.path or "")
    candidate = CandidateKey(deployment.id, credential.id)
    return Asking(key, wanted, deployment, credential, (candidate,), has_pattern)


async def _seen(asking: Asking, runtime: Runtime) -> Seen:
    started = asyncio.get_running_loop().time()
    outcome, _ = await probing.probe_now(asking, runtime)
    took_s = asyncio.get_running_loop().time() - started
    return Seen(asking.credential.id, asking.probe.mode.value, round(took_s * 1000, 1), outcome)


def note(action: str, deployment_id: str, by: Actor, reason: str) -> None:
    """Actions are audited also where they change nothing that is configured."""
    report = Reported(action, "deployments", deployment_id)
    audit([report], by, publishing.moment(runtimes.get()), reason)
