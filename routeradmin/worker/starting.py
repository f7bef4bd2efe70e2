"""Starting the worker of a process that serves."""

from __future__ import annotations

import logging

from routeradmin.catalog.problems import Invalid
from routeradmin.services.runtime import Runtime
from routeradmin.worker.demo import Demo
from routeradmin.worker.jobs import jobs
from routeradmin.worker.loop import Job, Worker

log = logging.getLogger(__name__)


async def start(runtime: Runtime) -> Worker:
    """The worker, running. The demo's providers are there before the first probe asks them."""
    worker = Worker(runtime, (*jobs(runtime), *await demo_jobs(runtime)))
    worker.start()
    return worker


async def demo_jobs(runtime: Runtime) -> tuple[Job, ...]:
    """A demo that cannot start is told in the log; it never keeps the server from serving."""
    if not runtime.is_demo:
        return ()
    demo = Demo()
    try:
        return await demo.open(runtime)
    except Invalid as invalid:
        log.error("the demo does not run: %s", "; ".join(map(str, invalid.problems)))
    except Exception:
        log.exception("the demo does not run")
    runtime.is_demo = False
    await demo.close()
    return ()
