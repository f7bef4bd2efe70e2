"""The upstream call of an attempt: where it goes, what it carries, in which protocol."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import orjson

from routeradmin.adapters import translate
from routeradmin.adapters.redaction import PARTIAL_FROM, Redactor
from routeradmin.adapters.sealing import Secret
from routeradmin.adapters.upstream import CommonHeaders, EndpointSettings, UpstreamCall
from routeradmin.adapters.upstream.call import Headers
from routeradmin.engine.eligibility import TRANSLATIONS
from routeradmin.engine.objects import Deployment
from routeradmin.engine.snapshot import Candidate, Snapshot
from routeradmin.services import calling
from routeradmin.services.inference.asked import Asked
from routeradmin.services.inference.bodies import Template
from routeradmin.services.inference.facts import CHAT, COMPLETIONS, MESSAGES
from routeradmin.services.inference.whole import COUNT_TOKENS
from routeradmin.services.runtime import Runtime

_PATHS = {**calling.PATHS, COUNT_TOKENS: "messages/count_tokens"}
_STREAM_ACCEPT = "text/event-stream, application/json"


class Base(NamedTuple):
    """What every call of a candidate has in common, as long as its secret stays the same.

    ``common`` are the headers of calls for whole answers, and those of calls for streams.
    """

    secret: Secret | None
    url: str
    common: tuple[CommonHeaders, CommonHeaders]
    settings: EndpointSettings


@dataclass(slots=True)
class Ways:
    """What is worked out once for a snapshot. ``mixed``: calling protocols that some deployment
    can only serve by translation. ``bases``: by endpoint, credential and operation."""

    snapshot: Snapshot
    mixed: frozenset[str]
    rules_read_headers: bool
    bases: dict[tuple[str, str, str], Base] = field(default_factory=dict)
    redactors: dict[str, tuple[Secret, Redactor | None]] = field(default_factory=dict)


_latest: Ways | None = None


def ways_of(snapshot: Snapshot) -> Ways:
    global _latest
    if _latest is None or _latest.snapshot is not snapshot:
        _latest = Ways(
            snapshot,
            frozenset(api for api in TRANSLATIONS if _mixed(snapshot, api)),
            any(rule.headers for route in snapshot.routes.values() for rule in route.rules),
        )
    return _latest


def _mixed(snapshot: Snapshot, api: str) -> bool:
    return any(
        api not in spoken_by(deployment) and not TRANSLATIONS[api].isdisjoint(spoken_by(deployment))
        for deployment in snapshot.deployments.values()
    )


def spoken_by(deployment: Deployment) -> tuple[str, ...]:
    return deployment.protocols or (deployment.protocol,)


def translatable(snapshot: Snapshot, asked: Asked) -> bool:
    """Whether the request can be said in the other protocol; looked into only where it matters."""
    if asked.counts_only or asked.api not in ways_of(snapshot).mixed:
        return False
    to_other = translate.request_to_messages if asked.api == CHAT else translate.request_to_chat
    return translate.why_not(to_other, asked.document) is None


def protocol_of(candidate: Candidate, asked: Asked) -> str:
    """The protocol to call the candidate in: the client's own, or the one to translate to."""
    spoken = spoken_by(candidate.deployment)
    if asked.api in spoken or asked.api == candidate.deployment.protocol:
        return asked.api
    return next(name for name in spoken if name in TRANSLATIONS.get(asked.api, ()))


class CallMaker:
    """Makes the calls of one turn; every attempt carries the same Idempotency-Key."""

    def __init__(self, runtime: Runtime, snapshot: Snapshot, asked: Asked, key: str) -> None:
        self._runtime = runtime
        self._ways = ways_of(snapshot)
        self._asked = asked
        self._idempotency_key = key
        self._template: Template | None = None

    def make(
        self, candidate: Candidate, protocol: str, trace: Mapping[str, str] | None = None
    ) -> UpstreamCall:
        """``trace``: headers that carry the trace on. Raises NoSecret."""
        asked = self._asked
        base = self._base(candidate, protocol)
        headers: Headers
        headers = common = base.common[asked.facts.stream]
        more = {"idempotency-key": self._idempotency_key}
        if trace:
            more.update(trace)
        if asked.wishes.forwarded and protocol == asked.api:
            own = dict(candidate.deployment.endpoint.headers)
            more.update((name, v) for name, v in asked.wishes.forwarded if name not in own)
        if not common.headers.keys().isdisjoint(more):  # those of this call replace the common ones
            headers, more = {**common.headers, **more}, {}
        body = self._body(candidate, protocol)
        return UpstreamCall(base.url, headers, body, "POST", base.settings, more.items())

    def _base(self, candidate: Candidate, protocol: str) -> Base:
        operation = self._asked.operation if protocol == self._asked.api else protocol
        endpoint, credential = candidate.deployment.endpoint, candidate.credential
        secret = self._runtime.secrets.get(credential)
        key = (endpoint.id, credential.id, operation)
        base = self._ways.bases.get(key)
        if base is None or base.secret is not secret:
            headers = calling.call_headers(endpoint, credential, secret, protocol)
            headers["content-type"] = "application/json"
            url = endpoint.base_url + _PATHS[operation]
            streaming = headers | {"accept": _STREAM_ACCEPT}
            common = (CommonHeaders(headers), CommonHeaders(streaming))
            settings = calling.settings_of(endpoint)
            base = self._ways.bases[key] = Base(secret, url, common, settings)
        return base

    def redactor(self, candidate: Candidate) -> Redactor | None:
        """For answers of this candidate: takes out its own secret, which it may quote back.

        A short placeholder such as "none" or "ollama" is an ordinary word there and stays.
        """
        secret = self._runtime.secrets.get(candidate.credential)
        if secret is None:
            return None
        found = self._ways.redactors.get(candidate.credential.id)
        if found is None or found[0] is not secret:
            long = len(secret.reveal().encode()) >= PARTIAL_FROM
            found = (secret, Redactor([secret]) if long else None)
            self._ways.redactors[candidate.credential.id] = found
        return found[1]

    def _body(self, candidate: Candidate, protocol: str) -> bytes:
        asked = self._asked
        if protocol != asked.api:
            return _translated(asked, candidate, protocol)
        if self._template is None:
            with_usage = asked.facts.stream and asked.api in (CHAT, COMPLETIONS)
            self._template = Template(asked.raw, asked.document, with_usage=with_usage)
        return self._template.write(candidate.upstream_name)


def _translated(asked: Asked, candidate: Candidate, protocol: str) -> bytes:
    body: dict[str, Any]
    if protocol == MESSAGES:
        bound = candidate.deployment.capabilities.max_output_tokens
        more = {} if bound is None else {"default_max_tokens": bound}
        body = translate.request_to_messages(asked.document, **more)
    else:
        body = translate.request_to_chat(asked.document)
    return orjson.dumps({**body, "model": candidate.upstream_name})
