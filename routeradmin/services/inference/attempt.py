"""One attempt: the call is made, its answer judged; a stream is passed on as it comes.

Nothing here decides what follows. Whatever happens comes out as facts, also when the attempt is
interrupted: ``Progress`` knows at every moment what the client has seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any, NamedTuple, Protocol

import orjson

from routeradmin.adapters.redaction import Redactor
from routeradmin.adapters.translate import BadAnswer, answer_to_chat, answer_to_messages
from routeradmin.adapters.upstream import UpstreamAnswer, UpstreamCall, UpstreamFailure
from routeradmin.adapters.upstream.client import UpstreamClient
from routeradmin.engine.outcome import AttemptFacts, Ending
from routeradmin.services import answers
from routeradmin.services.answers import Redact
from routeradmin.services.inference import usage, whole
from routeradmin.services.inference.asked import Asked
from routeradmin.services.inference.facts import CHAT
from routeradmin.services.inference.usage import UNKNOWN, Usage


class Sink(Protocol):
    """Where a stream goes."""

    async def begin(self) -> None:
        """The first visible frame is there: the status line may be sent."""
        ...

    async def write(self, data: bytes) -> None:
        """Whole frames."""
        ...


@dataclass(slots=True)
class Progress:
    """How far an attempt has come. ``upstream_s`` is time spent waiting for the upstream."""

    started: float
    visible_events: int = 0
    bytes_out: int = 0
    usage: Usage = UNKNOWN
    ttft_ms: float | None = None
    upstream_s: float = 0.0

    def complete(self, facts: AttemptFacts) -> AttemptFacts:
        """The facts with what was measured."""
        return AttemptFacts(
            facts.ending,
            facts.status,
            facts.headers,
            facts.document,
            facts.text,
            facts.message,
            self.visible_events > 0,
            (perf_counter() - self.started) * 1000,
            self.ttft_ms,
            self.usage.input,
            self.usage.output,
        )


class Whole(NamedTuple):
    """A good answer that came in one piece, in the client's protocol."""

    status: int
    body: bytes


class Attempted(NamedTuple):
    """``document`` is the upstream's error, in ``protocol``; ``last`` a held-back last frame."""

    facts: AttemptFacts
    protocol: str
    whole: Whole | None = None
    document: Any = None
    last: dict[str, Any] | None = None


class Job(NamedTuple):
    """What an attempt needs. ``redact`` takes secrets out of errors, ``clean`` out of answers."""

    client: UpstreamClient
    call: UpstreamCall
    asked: Asked
    protocol: str
    redact: Redact
    clean: Redactor | None
    now: float

    @property
    def operation(self) -> str:
        return self.asked.operation if self.protocol == self.asked.api else self.protocol


async def plain(job: Job, progress: Progress) -> Attempted:
    """An answer in one piece."""
    waiting = perf_counter()
    try:
        async with job.client.send(job.call) as answer:
            status, headers = answer.status, answer.headers
            body = await answer.read()
    except UpstreamFailure as failure:
        return Attempted(answers.of_failure(failure), job.protocol)
    finally:
        progress.upstream_s += perf_counter() - waiting
    return judged(job, progress, status, headers, body)


async def refused(job: Job, progress: Progress, answer: UpstreamAnswer) -> Attempted:
    """A stream was asked for and something else came."""
    body = await answer.read()
    found = judged(job, progress, answer.status, answer.headers, body)
    if found.whole is not None:
        message = "the upstream answered a streaming request in one piece"
        facts = AttemptFacts(Ending.MALFORMED, answer.status, answer.headers, message=message)
        return Attempted(facts, job.protocol)
    return found


def judged(
    job: Job, progress: Progress, status: int, headers: Mapping[str, str], body: bytes
) -> Attempted:
    facts, document = whole.judge(job.operation, status, headers, body, job.redact)
    if facts.ending is not Ending.SUCCESS:
        return Attempted(facts, job.protocol, document=document)
    progress.usage = usage.of_answer(document)
    progress.bytes_out = len(body)
    if job.clean is not None:
        body = job.clean.redact(body)
    if job.protocol != job.asked.api:
        try:
            body = _said_otherwise(job, document)
        except BadAnswer as problem:
            bad = AttemptFacts(Ending.MALFORMED, status, headers, message=str(problem))
            return Attempted(bad, job.protocol)
    return Attempted(facts, job.protocol, Whole(status, body))


def _said_otherwise(job: Job, document: dict[str, Any]) -> bytes:
    if job.asked.api == CHAT:
        translated = answer_to_chat(document, created_s=int(job.now))
    else:
        translated = answer_to_messages(document)
    body = orjson.dumps(translated)
    return body if job.clean is None else job.clean.redact(body)
