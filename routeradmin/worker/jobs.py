"""What the worker does, and how often."""

from __future__ import annotations

from routeradmin.services import heartbeats, journal_writing, retention, upkeep
from routeradmin.services.probing import Prober
from routeradmin.services.runtime import Runtime
from routeradmin.worker.loop import Job


async def expire_leases(runtime: Runtime) -> None:
    """Give back what is over even when nobody asks, so that the console shows it."""
    runtime.store.expire(runtime.clock())


def jobs() -> tuple[Job, ...]:
    """The table, with state of its own for those jobs that keep some."""
    prober = Prober()
    return (
        Job("expire leases", 0.25, expire_leases),
        # A kill may lose at most the last 250 ms of changes: half for waiting, half for writing.
        # A database that came back is written to soon: every second without it is one more to lose.
        Job("write journal", 0.1, journal_writing.flush, longest_pause_s=2.0),
        Job("take heartbeats", heartbeats.TICK_S, heartbeats.take),
        Job("probe", 0.5, prober.tick, close=prober.stop),
        # Commands write to the database of a running server: their keys and imports count too.
        Job("catch up", 1.0, upkeep.catch_up, longest_pause_s=5.0),
        Job("note key use", 15.0, upkeep.note_key_use),
        Job("look at outside secrets", 5.0, upkeep.refresh_secrets),
        Job("delete old records", 600.0, retention.retain, limit_s=300.0),
    )
