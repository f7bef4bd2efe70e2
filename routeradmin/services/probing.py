"""Health probes: when one is due, what it asks, and what its answer means.

A probe of mode ``models`` reads the model list (it costs nothing) and speaks for every deployment
behind the same endpoint and credential; one of mode ``chat`` is a tiny real request and speaks for
its candidate alone. Probes touch neither rpm, tpm, active nor latency, and never follow redirects.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from dataclasses import dataclass, field

import orjson

from routeradmin.adapters.upstream import EndpointSettings, UpstreamCall, UpstreamFailure
from routeradmin.engine.objects import AdminState, Credential, Deployment, Probe, ProbeMode
from routeradmin.engine.outcome import AttemptFacts, Ending, classify
from routeradmin.engine.policy import DEFAULT_POLICY
from routeradmin.engine.snapshot import Snapshot
from routeradmin.engine.state import CandidateKey, Change, Outcome
from routeradmin.services import answers, calling
from routeradmin.services.runtime import Runtime

log = logging.getLogger(__name__)

MOST_AT_ONCE = 32
MOST_ANSWER_BYTES = 4 * 1024 * 1024
PROMPT = "ping"
MOST_TOKENS = 16

ProbeKey = tuple[str, str, str, str]  # mode, endpoint id or deployment id, credential id, path


@dataclass(frozen=True, slots=True)
class Asking:
    """One probe: whom it asks, and for which candidates its answer counts."""

    key: ProbeKey
    probe: Probe
    deployment: Deployment
    credential: Credential
    candidates: tuple[CandidateKey, ...]


def askings(snapshot: Snapshot) -> list[Asking]:
    """Every probe the catalog asks for; disabled deployments and credentials are left alone."""
    grouped: dict[ProbeKey, tuple[Probe, Deployment, Credential, list[CandidateKey]]] = {}
    for deployment, credential in _pairs(snapshot):
        probe = deployment.probe
        shared = probe.mode is ProbeMode.MODELS
        place = deployment.endpoint.id if shared else deployment.id
        key = (probe.mode.value, place, credential.id, probe.path or "")
        found = grouped.setdefault(key, (probe, deployment, credential, []))
        found[3].append(CandidateKey(deployment.id, credential.id))
    return [
        Asking(key, probe, deployment, credential, tuple(keys))
        for key, (probe, deployment, credential, keys) in grouped.items()
    ]


def _pairs(snapshot: Snapshot) -> Iterator[tuple[Deployment, Credential]]:
    for deployment in snapshot.deployments.values():
        # The name behind a pattern is only known once a caller asks for one.
        asked = (
            deployment.probe.mode is not ProbeMode.OFF and "*" not in deployment.model.upstream_name
        )
        if not asked or AdminState.DISABLED in (
            deployment.admin_state,
            deployment.provider.admin_state,
        ):
            continue
        for credential in deployment.credentials:
            if credential.admin_state is not AdminState.DISABLED:
                yield deployment, credential


def call_for(asking: Asking, runtime: Runtime) -> UpstreamCall:
    """The request of a probe. Raises NoSecret."""
    deployment, credential, probe = asking.deployment, asking.credential, asking.probe
    secret = runtime.secrets.get(credential)
    settings = EndpointSettings(
        proxy=deployment.endpoint.proxy,
        ca_file=deployment.endpoint.ca_file,
        connect_timeout_s=probe.timeout_s,
        header_timeout_s=probe.timeout_s,
        idle_timeout_s=probe.timeout_s,
        total_timeout_s=probe.timeout_s,
    )
    if probe.mode is ProbeMode.MODELS:
        path = probe.path or calling.MODELS_PATH
        return calling.get(
            deployment.endpoint, credential, secret, deployment.protocol, path, settings
        )
    body = orjson.dumps(tiny_request(deployment.protocol, deployment.model.upstream_name))
    return calling.post(
        deployment.endpoint, credential, secret, deployment.protocol, body, settings
    )


def tiny_request(protocol: str, model: str) -> dict[str, object]:
    """The smallest real request of a protocol; it may be billed."""
    if protocol == "embeddings":
        return {"model": model, "input": PROMPT}
    if protocol == "completions":
        return {"model": model, "prompt": PROMPT, "max_tokens": MOST_TOKENS}
    if protocol == "responses":
        return {"model": model, "input": PROMPT, "max_output_tokens": MOST_TOKENS}
    return {
        "model": model,
        "messages": [{"role": "user", "content": PROMPT}],
        "max_tokens": MOST_TOKENS,
    }


async def ask(asking: Asking, runtime: Runtime) -> Outcome:
    """Make the request and classify what comes back; failures are outcomes, not exceptions."""
    protocol = None if asking.probe.mode is ProbeMode.MODELS else asking.deployment.protocol
    try:
        async with runtime.upstream.send(call_for(asking, runtime)) as answer:
            body = await answer.read(MOST_ANSWER_BYTES)
            facts = answers.of_answer(
                answer.status, answer.headers, body, protocol, runtime.secrets.redactor.text
            )
    except calling.NoSecret:
        facts = AttemptFacts(Ending.NOT_CONNECTED, message="no secret is at hand for it")
    except UpstreamFailure as failure:
        facts = answers.of_failure(failure)
    return classify(facts, DEFAULT_POLICY.classify, now=runtime.clock())


async def probe_now(asking: Asking, runtime: Runtime) -> tuple[Outcome, list[Change]]:
    """Ask once and write the verdict to every candidate the probe speaks for."""
    outcome = await ask(asking, runtime)
    changes: list[Change] = []
    for key in asking.candidates:
        changes += await runtime.store.probed(
            key,
            outcome.failure is None,
            asking.probe.failure_threshold,
            DEFAULT_POLICY,
            outcome,
            runtime.clock(),
        )
    return outcome, changes


@dataclass(slots=True)
class Prober:
    """Starts what is due. A probe that hangs holds only itself, and its own time limit ends it."""

    due_at: dict[ProbeKey, float] = field(default_factory=dict)
    running: dict[ProbeKey, asyncio.Task[None]] = field(default_factory=dict)

    async def tick(self, runtime: Runtime) -> None:
        """First at once, then every interval; a probe still running is not started again."""
        now = runtime.clock()
        wanted = {asking.key: asking for asking in askings(runtime.current.snapshot)}
        for gone in self.due_at.keys() - wanted.keys():
            del self.due_at[gone]
        for key, asking in wanted.items():
            if self.due_at.get(key, now) > now or key in self.running:
                continue
            if len(self.running) >= MOST_AT_ONCE:
                break
            self.due_at[key] = now + asking.probe.interval_s
            self.running[key] = asyncio.create_task(self._run(asking, runtime))

    async def _run(self, asking: Asking, runtime: Runtime) -> None:
        try:
            async with asyncio.timeout(asking.probe.timeout_s * 2 + 1):
                await probe_now(asking, runtime)
        except Exception:
            log.exception("probe of %s failed in routeradmin itself", asking.key)
        finally:
            del self.running[asking.key]

    async def stop(self) -> None:
        for task in self.running.values():
            task.cancel()
        await asyncio.gather(*self.running.values(), return_exceptions=True)
