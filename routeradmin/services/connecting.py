"""Testing a connection in steps: name, connection, TLS, authentication, model, first token.

Nothing is learned from it and nothing changes. The last step is a tiny real request that may be
billed; messages are redacted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

import orjson
from asgiref.sync import async_to_sync

from routeradmin.adapters.upstream import EndpointSettings, UpstreamFailure, reach
from routeradmin.engine.objects import Credential, Deployment
from routeradmin.services import calling, looking, probing
from routeradmin.services import runtime as runtimes
from routeradmin.services.changes.commit import Actor
from routeradmin.services.runtime import Runtime

STEP_LIMIT_S = 20.0
MOST_TEXT = 300
STREAMED = ("chat-completions", "completions", "responses", "messages")


@dataclass(frozen=True, slots=True)
class Step:
    """``ok`` None: not tried, or it cannot be told; ``detail`` says why or what to do."""

    name: str
    ok: bool | None
    detail: str = ""
    duration_ms: float | None = None


@dataclass(frozen=True, slots=True)
class Tested:
    credential: str
    steps: tuple[Step, ...]

    @property
    def ok(self) -> bool:
        return not any(step.ok is False for step in self.steps)


def try_out(
    deployment_id: str, by: Actor, *, credential_id: str | None = None, reason: str = ""
) -> Tested:
    """With one credential, the deployment's first by default. Raises NotFound."""
    runtime = runtimes.get()
    deployment = looking.find(runtime, deployment_id)
    credential = looking.chosen(deployment, credential_id)[0]
    attempt = _Attempt(runtime, deployment, credential)
    steps = async_to_sync(attempt.steps)()
    looking.note("test", deployment_id, by, reason)
    return Tested(credential.id, steps)


class _Attempt:
    def __init__(self, runtime: Runtime, deployment: Deployment, credential: Credential) -> None:
        self._runtime = runtime
        self._deployment = deployment
        self._credential = credential
        self._secret = runtime.secrets.get(credential)
        self._url = urlsplit(deployment.endpoint.base_url)

    async def steps(self) -> tuple[Step, ...]:
        """As far as they go: after one that failed the rest is not tried."""
        taken = await self._way()
        if taken[-1].ok is not False:
            taken += await self._model_list()
        if all(step.ok is not False or step.name == "model" for step in taken):
            taken.append(await _timed("first_token", self._first_token))
        return tuple(taken)

    async def _way(self) -> list[Step]:
        """Name, connection, TLS, on a connection of its own; with a proxy that is the proxy's."""
        if self._deployment.endpoint.proxy:
            words = "through the proxy: the next step tells"
            return [Step(name, None, words) for name in ("dns", "connection", "tls")]
        addresses: list[str] = []
        host, port = self._url.hostname or "", self._port

        async def look_up() -> Step:
            addresses.extend(await reach.look_up(host, port, runtimes.upstream_policy()))
            return Step("dns", True, ", ".join(addresses))

        async with reach.Line() as line:

            async def connect() -> Step:
                return Step("connection", True, await line.connect(addresses, port))

            async def secure() -> Step:
                if self._url.scheme != "https":
                    return Step("tls", None, "the base URL is plain http")
                return Step("tls", True, await line.secure(host, self._deployment.endpoint.ca_file))

            taken: list[Step] = []
            for name, take in (("dns", look_up), ("connection", connect), ("tls", secure)):
                taken.append(await _timed(name, take))
                if taken[-1].ok is False:
                    break
            return taken

    @property
    def _port(self) -> int:
        return self._url.port or (443 if self._url.scheme == "https" else 80)

    async def _model_list(self) -> list[Step]:
        """One request tells of authentication and the model."""
        started = asyncio.get_running_loop().time()
        try:
            status, body = await self._asked_for_models()
        except calling.NoSecret:
            return [Step("auth", False, "no secret is at hand for it: replace it or set it")]
        except UpstreamFailure as failure:
            return [Step("auth", False, failure.message, _since(started))]
        auth = replace(self._auth(status, body), duration_ms=_since(started))
        return [auth, self._model(status, body)]

    async def _asked_for_models(self) -> tuple[int, bytes]:
        call = calling.get(
            self._deployment.endpoint,
            self._credential,
            self._secret,
            self._deployment.protocol,
            calling.MODELS_PATH,
            self._settings(),
        )
        async with self._runtime.upstream.send(call) as answer:
            return answer.status, await answer.read(probing.MOST_ANSWER_BYTES)

    def _auth(self, status: int, body: bytes) -> Step:
        if status in (401, 403):
            return Step("auth", False, f"{status}: {self._text(body)}")
        if status < 400:
            return Step("auth", True)
        return Step("auth", None, f"the model list answered {status}; the last step tells")

    def _model(self, status: int, body: bytes) -> Step:
        wanted = self._deployment.model.upstream_name
        names = _names(body) if status < 400 else None
        if names is None:
            return Step("model", None, "the endpoint offers no model list")
        if "*" in wanted:
            return Step("model", None, f"a pattern: the endpoint lists {len(names)} models")
        found = wanted in names
        return Step("model", found, "" if found else f"the endpoint does not list {wanted}")

    async def _first_token(self) -> Step:
        wanted, protocol = self._deployment.model.upstream_name, self._deployment.protocol
        if "*" in wanted:
            return Step("first_token", None, "a pattern stands for no single model")
        request = probing.tiny_request(protocol, wanted)
        if protocol in STREAMED:
            request["stream"] = True
        call = calling.post(
            self._deployment.endpoint,
            self._credential,
            self._secret,
            protocol,
            orjson.dumps(request),
            self._settings(),
        )
        try:
            async with self._runtime.upstream.send(call) as answer:
                first = await answer.chunk()
                status = answer.status
        except UpstreamFailure as failure:
            return Step("first_token", False, failure.message)
        if status >= 300 or not first:
            return Step("first_token", False, f"{status}: {self._text(first)}")
        return Step("first_token", True)

    def _settings(self) -> EndpointSettings:
        settings = calling.settings_of(self._deployment.endpoint)
        return replace(
            settings,
            connect_timeout_s=min(settings.connect_timeout_s, STEP_LIMIT_S),
            header_timeout_s=min(settings.header_timeout_s, STEP_LIMIT_S),
            total_timeout_s=min(settings.total_timeout_s, STEP_LIMIT_S),
        )

    def _text(self, body: bytes) -> str:
        text = body[:4096].decode("utf-8", "replace")
        return self._runtime.secrets.redactor.text(text)[:MOST_TEXT]


async def _timed(name: str, take: Callable[[], Awaitable[Step]]) -> Step:
    started = asyncio.get_running_loop().time()
    try:
        async with asyncio.timeout(STEP_LIMIT_S):
            step = await take()
    except UpstreamFailure as failure:
        step = Step(name, False, failure.message)
    except TimeoutError:
        step = Step(name, False, f"no answer within {STEP_LIMIT_S:.0f} s")
    return replace(step, duration_ms=_since(started))


def _since(started: float) -> float:
    return round((asyncio.get_running_loop().time() - started) * 1000, 1)


def _names(body: bytes) -> set[str] | None:
    """The ids of an OpenAI-style model list; None where it is something else."""
    try:
        listed = orjson.loads(body)["data"]
        return {str(entry["id"]) for entry in listed}
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return None
