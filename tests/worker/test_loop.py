"""The worker survives its jobs: errors, hangs, and being stopped in the middle."""

from __future__ import annotations

import asyncio

from django.test import SimpleTestCase

from routeradmin.services.standing import JobStanding
from routeradmin.worker.loop import Job, Worker, pause_s, run_once


class Fake:
    """As much of a runtime as the loop looks at."""

    def __init__(self) -> None:
        self.jobs: dict[str, JobStanding] = {}
        self.now = 100.0

    def clock(self) -> float:
        return self.now

    def redact(self, text: str) -> str:
        return text.replace("hunter2", "***")


class TheLoop(SimpleTestCase):
    async def test_a_failing_job_is_noted_and_its_success_clears_the_note(self) -> None:
        runtime, standing = Fake(), JobStanding("j")

        async def fail(_: object) -> None:
            raise ValueError("disk full")

        async def succeed(_: object) -> None: ...

        with self.assertLogs("routeradmin.worker.loop", "ERROR"):
            await run_once(Job("j", 1, fail), runtime, standing)  # type: ignore[arg-type]
        assert (standing.failures_in_a_row, standing.last_error) == (1, "ValueError: disk full")
        await run_once(Job("j", 1, succeed), runtime, standing)  # type: ignore[arg-type]
        assert (standing.failures_in_a_row, standing.last_error) == (0, "")
        assert standing.failures == 1

    async def test_what_a_job_failed_with_is_noted_without_secrets(self) -> None:
        runtime, standing = Fake(), JobStanding("j")

        async def fail(_: object) -> None:
            raise ValueError("no login with hunter2")

        with self.assertLogs("routeradmin.worker.loop", "ERROR"):
            await run_once(Job("j", 1, fail), runtime, standing)  # type: ignore[arg-type]
        assert standing.last_error == "ValueError: no login with ***"

    def test_failures_in_a_row_double_the_pause_up_to_the_jobs_longest(self) -> None:
        async def nothing(_: object) -> None: ...

        job = Job("j", 0.1, nothing, longest_pause_s=2.0)
        pauses = [pause_s(job, JobStanding("j", failures_in_a_row=n)) for n in (0, 1, 2, 5, 5000)]
        assert pauses == [0.1, 0.2, 0.4, 2.0, 2.0]
        seldom = Job("s", 600, nothing)
        assert pause_s(seldom, JobStanding("s", failures_in_a_row=9)) == 600

    async def test_a_hanging_job_is_cut_off_at_its_limit(self) -> None:
        runtime, standing = Fake(), JobStanding("j")

        async def hang(_: object) -> None:
            await asyncio.Event().wait()

        with self.assertLogs("routeradmin.worker.loop", "ERROR"):
            await run_once(Job("j", 1, hang, limit_s=0.01), runtime, standing)  # type: ignore[arg-type]
        assert standing.last_error == "cut off after 0.01 s"

    async def test_a_job_that_hangs_does_not_stop_the_others(self) -> None:
        runtime, ran = Fake(), asyncio.Event()
        closed: list[bool] = []

        async def hang(_: object) -> None:
            await asyncio.Event().wait()

        async def run(_: object) -> None:
            ran.set()

        async def close() -> None:
            closed.append(True)

        worker = Worker(runtime, (Job("hang", 1, hang, close=close), Job("run", 1, run)))  # type: ignore[arg-type]
        worker.start()
        await asyncio.wait_for(ran.wait(), 5)
        await worker.stop()
        assert closed == [True]
        assert set(runtime.jobs) == {"hang", "run"}
