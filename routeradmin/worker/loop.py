"""The background worker: a table of jobs, each on a task of its own.

A job that raises is logged, counted, shown on the console and run again, later after every
failure in a row; one that hangs is cut off at its time limit. No job can stop another.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from routeradmin.services.runtime import Runtime
from routeradmin.services.standing import JobStanding

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Job:
    """``run`` is awaited every ``interval_s`` seconds and cut off after ``limit_s``; failures in a
    row double the pause up to ``longest_pause_s``; ``close`` ends what it started."""

    name: str
    interval_s: float
    run: Callable[[Runtime], Awaitable[None]]
    limit_s: float = 30.0
    longest_pause_s: float = 60.0
    close: Callable[[], Awaitable[None]] | None = None


class Worker:
    """Runs jobs until stopped; ``stop`` lets none of them begin anew and waits for all."""

    def __init__(self, runtime: Runtime, jobs: Sequence[Job]) -> None:
        self._runtime = runtime
        self._jobs = jobs
        self._tasks: list[asyncio.Task[None]] = []
        self._stopping = asyncio.Event()

    def start(self) -> None:
        for job in self._jobs:
            standing = self._runtime.jobs.setdefault(job.name, JobStanding(job.name))
            task = asyncio.create_task(self._repeat(job, standing), name=f"job {job.name}")
            self._tasks.append(task)

    async def stop(self) -> None:
        self._stopping.set()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for job in self._jobs:
            if job.close is not None:
                await job.close()

    async def _repeat(self, job: Job, standing: JobStanding) -> None:
        while not self._stopping.is_set():
            await run_once(job, self._runtime, standing)
            await asyncio.sleep(pause_s(job, standing))


def pause_s(job: Job, standing: JobStanding) -> float:
    """How long until the job's next run."""
    backed_off_s = job.interval_s * float(2 ** min(standing.failures_in_a_row, 10))
    return min(backed_off_s, max(job.interval_s, job.longest_pause_s))


async def run_once(job: Job, runtime: Runtime, standing: JobStanding) -> None:
    """One run; its end is noted in ``standing``, never raised (but for cancellation)."""
    standing.started_at = runtime.clock()
    try:
        async with asyncio.timeout(job.limit_s):
            await job.run(runtime)
    except TimeoutError:
        standing.failed(runtime.clock(), f"cut off after {job.limit_s:g} s")
        log.error("job %s: cut off after %g s", job.name, job.limit_s)
    except Exception as problem:
        standing.failed(runtime.clock(), runtime.redact(f"{type(problem).__name__}: {problem}"))
        log.exception("job %s failed", job.name)
    else:
        standing.succeeded(runtime.clock())
