"""Health probes: when one is due, what it asks, and what its answer means.

A probe of mode ``models`` reads the model list (it costs nothing) and speaks for every deployment
behind the same endpoint and credential; one of mode ``chat`` is a tiny real request and speaks for
its candidate alone. Probes touch neither rpm, tpm, active nor latency, and never follow redirects.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

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

MOST_AT_ONCE = 64
MOST_ANSWER_BYTES = 4 * 1024 * 1024
PROMPT = "ping"
MOST_TOKENS = 16

ProbeKey = tuple[str, str, str, str]  # mode, endpoint id or deployment id, credential id, path


@dataclass(frozen=True, slots=True)
class Asking:
    """One probe: whom it asks, and for which candidates its answer counts.

    Of a deployment with a pattern that is every name it has been asked for so far.
    """

    key: ProbeKey
    probe: Probe
    deployment: Deployment
    credential: Credential
    candidates: tuple[CandidateKey, ...]
    has_pattern: bool = False


def askings(snapshot: Snapshot) -> list[Asking]:
    """Every probe the catalog asks for; disabled deployments and credentials are left alone."""
    grouped: dict[ProbeKey, list[tuple[Deployment, Credential]]] = {}
    for deployment, credential in _pairs(snapshot):
        probe = deployment.probe
        shared = probe.mode is ProbeMode.MODELS
        place = deployment.endpoint.id if shared else deployment.id
        key = (probe.mode.value, place, credential.id, probe.path or "")
        grouped.setdefault(key, []).append((deployment, credential))
    return [asking_of(key, pairs) for key, pairs in grouped.items()]


def asking_of(key: ProbeKey, pairs: Sequence[tuple[Deployment, Credential]]) -> Asking:
    """One probe for all of the pairs; the first of them says how to ask."""
    deployment, credential = pairs[0]
    return Asking(
        key,
        deployment.probe,
        deployment,
        credential,
        tuple(CandidateKey(one.id, other.id) for one, other in pairs),
        has_pattern=any(is_pattern(one) for one, _ in pairs),
    )


def is_pattern(deployment: Deployment) -> bool:
    return "*" in deployment.model.upstream_name


def _pairs(snapshot: Snapshot) -> Iterator[tuple[Deployment, Credential]]:
    for deployment in snapshot.deployments.values():
        mode = deployment.probe.mode
        # No name stands for a whole pattern, so there is nothing to send a real request to.
        if mode is ProbeMode.OFF or (mode is ProbeMode.CHAT and is_pattern(deployment)):
            continue
        if AdminState.DISABLED in (deployment.admin_state, deployment.provider.admin_state):
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
    except calling.NoSecret as problem:
        facts = AttemptFacts(Ending.NOT_CONNECTED, message=str(problem))
    except UpstreamFailure as failure:
        facts = answers.of_failure(failure)
    return classify(facts, DEFAULT_POLICY.classify, now=runtime.clock())


async def probe_now(asking: Asking, runtime: Runtime) -> tuple[Outcome, list[Change]]:
    """Ask once and write the verdict to every candidate the probe speaks for."""
    outcome = await ask(asking, runtime)
    changes: list[Change] = []
    for key in spoken_for(asking, runtime):
        changes += await runtime.store.probed(
            key,
            outcome.failure is None,
            asking.probe.failure_threshold,
            DEFAULT_POLICY,
            outcome,
            runtime.clock(),
        )
    return outcome, changes


def spoken_for(asking: Asking, runtime: Runtime) -> Sequence[CandidateKey]:
    """The candidates that the verdict is written to."""
    if not asking.has_pattern:
        return asking.candidates
    pairs = {(key.deployment, key.credential) for key in asking.candidates}
    matched = [
        state.key
        for state in runtime.store.states()
        if state.key.matched and (state.key.deployment, state.key.credential) in pairs
    ]
    return (*asking.candidates, *matched)


@dataclass(frozen=True, slots=True)
class Due:
    """When a probe is next, and the settings it was planned with."""

    at: float
    probe: Probe


@dataclass(slots=True)
class Prober:
    """Starts what is due. A probe that hangs holds only itself, and its own time limit ends it."""

    due: dict[ProbeKey, Due] = field(default_factory=dict)
    running: dict[ProbeKey, asyncio.Task[None]] = field(default_factory=dict)
    most_at_once: int = MOST_AT_ONCE
    _askings: tuple[Snapshot, list[Asking]] | None = None

    async def tick(self, runtime: Runtime) -> None:
        """First at once, then every interval; a probe still running is not started again.

        Those that waited longest go first, so that none starves behind many that hang.
        """
        now = runtime.clock()
        wanted = self._wanted(runtime.current.snapshot)
        self._plan(wanted, now)
        ready = [one for one in wanted if one.key not in self.running and self._at(one) <= now]
        ready.sort(key=self._at)
        for asking in ready[: max(self.most_at_once - len(self.running), 0)]:
            self.due[asking.key] = Due(now + asking.probe.interval_s, asking.probe)
            task = asyncio.create_task(_run(asking, runtime))
            self.running[asking.key] = task
            task.add_done_callback(partial(self._ended, asking.key))

    def _wanted(self, snapshot: Snapshot) -> list[Asking]:
        if self._askings is None or self._askings[0] is not snapshot:
            self._askings = (snapshot, askings(snapshot))
        return self._askings[1]

    def _plan(self, wanted: Sequence[Asking], now: float) -> None:
        """A probe that is new, or was set up anew, is due at once."""
        self.due = {
            one.key: found
            if found is not None and found.probe == one.probe
            else Due(now, one.probe)
            for one in wanted
            for found in [self.due.get(one.key)]
        }

    def _at(self, asking: Asking) -> float:
        return self.due[asking.key].at

    def _ended(self, key: ProbeKey, task: asyncio.Task[None]) -> None:
        # Not the task's own doing: one that is cancelled before it began never gets to run.
        self.running.pop(key, None)

    async def stop(self) -> None:
        tasks = list(self.running.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _run(asking: Asking, runtime: Runtime) -> None:
    try:
        async with asyncio.timeout(asking.probe.timeout_s * 2 + 1):
            await probe_now(asking, runtime)
    except Exception:
        log.exception("probe of %s failed in routeradmin itself", asking.key)
