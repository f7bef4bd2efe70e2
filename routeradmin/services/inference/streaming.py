"""An attempt whose answer is a stream: every frame is judged, then passed on at once.

The client sees nothing before the first frame that holds part of an answer; until then the attempt
can still be replaced by another. Frames that come together go out together.
"""

from __future__ import annotations

import asyncio
from time import perf_counter

from routeradmin.adapters.sse import EventStream, EventTooLarge
from routeradmin.adapters.translate import BadAnswer, messages_frame
from routeradmin.adapters.upstream import UpstreamAnswer, UpstreamFailure
from routeradmin.engine.outcome import AttemptFacts, Ending
from routeradmin.services import answers
from routeradmin.services.inference import attempt
from routeradmin.services.inference.attempt import Attempted, Job, Progress, Sink
from routeradmin.services.inference.frames import BadFrame, ErrorFrame, Judge, Kind, judge_for
from routeradmin.services.inference.passing import Passing, passing_for

# A complete answer whose connection stays open is over all the same.
END_GRACE_S = 2.0
MAX_QUIET_BYTES = 1024 * 1024  # held back until the answer begins
_WHOLE_TYPES = ("json", "html", "xml")


async def stream(job: Job, progress: Progress, sink: Sink) -> Attempted:
    """Call and pass on; the end of the stream is the end of the attempt."""
    waiting = perf_counter()
    try:
        async with job.client.send(job.call) as answer:
            progress.upstream_s += perf_counter() - waiting
            kind = answer.headers.get("content-type", "").lower()
            if answer.status != 200 or any(word in kind for word in _WHOLE_TYPES):
                return await attempt.refused(job, progress, answer)
            return await Pump(job, progress, sink, answer).run()
    except UpstreamFailure as failure:
        return Attempted(answers.of_failure(failure), job.protocol)


class Pump:
    """Moves one stream from the upstream to the client."""

    def __init__(self, job: Job, progress: Progress, sink: Sink, answer: UpstreamAnswer) -> None:
        self._job = job
        self._progress = progress
        self._sink = sink
        self._answer = answer
        own = job.protocol == job.asked.api
        hide_usage = own and not job.asked.facts.usage_wanted
        self._judge: Judge = judge_for(job.protocol, job.asked.facts.choices, hide_usage=hide_usage)
        self._passing: Passing = passing_for(job.asked, job.protocol, job.now)
        self._own = own
        self._holds_last = job.asked.wishes.trace  # whoever ends the stream puts the trace in it
        self._events = EventStream(comments=True)
        self._out: list[bytes] = []
        self._seen = 0  # visible frames in ``_out``
        self._quiet_bytes = 0
        self._over_at: float | None = None
        self._last: dict[str, object] | None = None

    async def run(self) -> Attempted:
        try:
            await self._pump()
            self._finish()
            await self._flush()
        except ErrorFrame as problem:
            return await self._failed_inside(problem)
        except (BadFrame, BadAnswer, EventTooLarge) as problem:
            await self._flush()
            return self._ended(Ending.MALFORMED, str(problem))
        except UpstreamFailure as failure:
            return Attempted(answers.of_failure(failure), self._job.protocol)
        if not self._judge.ended:
            return self._ended(Ending.BROKEN, "the stream stopped without an end")
        return self._ended(Ending.SUCCESS, "")

    async def _pump(self) -> None:
        while True:
            chunk = await self._chunk()
            if not chunk:
                break
            self._take(chunk)
            await self._flush()
        if self._events.unfinished:
            self._take(b"\n\n")  # the last event, if its blank line was forgotten

    async def _chunk(self) -> bytes:
        """More of the stream; nothing at its end, or when it need not go on."""
        waiting = perf_counter()
        try:
            if not self._judge.ended:
                return await self._answer.chunk()
            if self._over_at is None:
                self._over_at = asyncio.get_running_loop().time() + END_GRACE_S
            async with asyncio.timeout_at(self._over_at):
                return await self._answer.chunk()
        except TimeoutError:
            return b""
        except UpstreamFailure:
            if self._judge.ended:
                return b""
            raise
        finally:
            self._progress.upstream_s += perf_counter() - waiting
            self._progress.usage = self._judge.usage

    def _take(self, chunk: bytes) -> None:
        """Judge the frames that the chunk completes; the good ones wait in ``_out``."""
        for event in self._events.feed(chunk):
            if not event.data:
                if self._seen or self._progress.visible_events:
                    self._out.append(event.raw)  # a comment keeps the client's line open too
                continue
            kind, document = self._judge.see(event)
            if kind is Kind.HIDDEN:
                continue
            if kind is Kind.LAST and self._own and self._holds_last:
                self._last = document
                continue
            frames = self._passing.frames(event, document)
            if frames:
                self._out.append(frames)
                if kind is not Kind.QUIET:
                    self._seen += 1
                elif not (self._seen or self._progress.visible_events):
                    self._hold_back(len(frames))

    def _hold_back(self, size: int) -> None:
        """Raises BadFrame for a stream that would fill the memory before it answers."""
        self._quiet_bytes += size
        if self._quiet_bytes > MAX_QUIET_BYTES:
            raise BadFrame("the stream holds frame after frame and nothing of an answer")

    def _finish(self) -> None:
        """What the passing itself has to say at the end. Raises BadAnswer."""
        tail = self._passing.tail()
        if tail and self._holds_last:
            self._last = tail.pop()
        self._out.extend(map(messages_frame, tail))

    async def _flush(self) -> None:
        """Pass on what waits; quiet frames alone wait for the first visible one."""
        progress = self._progress
        progress.usage = self._judge.usage
        if not self._out or not (self._seen or progress.visible_events):
            return
        data = b"".join(self._out) if len(self._out) > 1 else self._out[0]
        self._out.clear()
        if self._job.clean is not None:
            data = self._job.clean.redact(data)
        if not progress.visible_events:
            progress.ttft_ms = (perf_counter() - progress.started) * 1000
            await self._sink.begin()
        progress.visible_events += self._seen
        progress.bytes_out += len(data)
        self._seen = 0
        if data:
            await self._sink.write(data)

    async def _failed_inside(self, problem: ErrorFrame) -> Attempted:
        await self._flush()
        text = answers.message_of(problem.document, str(problem))
        facts = AttemptFacts(
            Ending.ERROR_INSIDE,
            self._answer.status,
            self._answer.headers,
            problem.document,
            message=self._job.redact(text),
        )
        return Attempted(facts, self._job.protocol, document=problem.document)

    def _ended(self, ending: Ending, message: str) -> Attempted:
        facts = AttemptFacts(ending, self._answer.status, self._answer.headers, message=message)
        return Attempted(facts, self._job.protocol, last=self._last)
