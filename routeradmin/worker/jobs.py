"""What the worker does, and how often."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable
from functools import partial

from django.conf import settings

from routeradmin.adapters.state_redis import election
from routeradmin.services import heartbeats, journal_writing, postponing, retention, upkeep
from routeradmin.services.probing import Prober
from routeradmin.services.runtime import Runtime
from routeradmin.worker.loop import Job
from routeradmin.worker.scrapers import Scrapers, listening

CATCH_UP_EVERY_S = 0.8  # behind the pushes: an edit is everywhere within a second without them too

Run = Callable[[Runtime], Awaitable[None]]


async def expire_leases(runtime: Runtime) -> None:
    """Give back what is over even when nobody asks, so that the console shows it."""
    runtime.store.expire(runtime.clock())


async def look_for_alerts(runtime: Runtime) -> None:
    await runtime.alerts.look(runtime)


async def send_alerts(runtime: Runtime) -> None:
    """Begin what is due; receivers that are slow hold up nothing here."""
    await runtime.alerts.send(runtime)


def only_leading(run: Run) -> Run:
    """For what only one process may do: the others leave it be."""

    async def run_if_leading(runtime: Runtime) -> None:
        if runtime.leads:
            await run(runtime)

    return run_if_leading


def jobs(runtime: Runtime) -> tuple[Job, ...]:
    """The table, with state of its own for those jobs that keep some."""
    shared = () if runtime.peers is None else sharing(runtime.plane)
    prober = Prober()
    return (
        *shared,
        Job("expire leases", 0.25, expire_leases),
        # A kill may lose at most the last 250 ms of changes: half for waiting, half for writing.
        # A database that came back is written to soon: every second without it is one more to lose.
        Job("write journal", 0.1, journal_writing.flush, longest_pause_s=2.0),
        Job("take heartbeats", heartbeats.TICK_S, heartbeats.take),
        Job("probe", 0.5, only_leading(prober.tick), close=prober.stop),
        Job("look for alerts", 2.0, look_for_alerts),
        Job("send alerts", 0.5, send_alerts),
        *answering_scrapers(runtime),
        # Commands write to the database of a running server: their keys and imports count too.
        Job("catch up", CATCH_UP_EVERY_S, upkeep.catch_up, longest_pause_s=5.0),
        Job("note key use", 15.0, upkeep.note_key_use),
        Job("look at outside secrets", 5.0, upkeep.refresh_secrets),
        Job("delete old records", 600.0, only_leading(retention.retain), limit_s=300.0),
    )


def sharing(plane: str) -> tuple[Job, ...]:
    """What a process of several does besides. A data plane leaves leading to the others."""
    elect = () if plane == "data" else (Job("elect", election.RENEW_EVERY_S, upkeep.elect),)
    return (
        *elect,
        Job("beat", 0.5, upkeep.beat),
        Job("tell what was postponed", 0.5, postponing.tell),
        Job("follow the clock", 10.0, upkeep.follow_clock),
        Job("prune shared state", 60.0, only_leading(upkeep.prune)),
    )


def answering_scrapers(runtime: Runtime) -> tuple[Job, ...]:
    """The figures of workers for each other; and a port of its own for metrics, where the settings
    ask for one. Tried again while none is free."""
    jobs: list[Job] = []
    if (siblings := runtime.siblings) is not None:
        jobs.append(Job("tell siblings", 5.0, siblings.tick, close=siblings.stop))
    if listen := _metrics_port(runtime):
        scrapers = Scrapers(listen)
        jobs.append(Job("answer scrapers", 5.0, scrapers.tick, close=scrapers.stop))
    return tuple(jobs)


def _metrics_port(runtime: Runtime) -> Callable[[], socket.socket] | None:
    if (given := runtime.metrics_listener) is not None:
        return lambda: given
    if settings.METRICS_LISTEN is None or runtime.siblings is not None:
        return None
    return partial(listening, *settings.METRICS_LISTEN)
