"""Catalog control at size: import, publish, roll back, and what readers notice of it.

    python -m benchmarks.catalog [--deployments N] [--routes N] [--repeat N]

1,000 deployments and 300 routes of three tiers, on SQLite in a temporary directory. Readers take
decisions on another thread of the same process meanwhile. Their ratio is to the same readers
beside a thread that burns as much time in plain Python: what is left is what publishing itself
costs them, above its share of the interpreter.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import ExitStack
from random import Random
from time import perf_counter, process_time
from typing import Any

from routeradmin.catalog.document import FORMAT

WANTED_IMPORT_S, WANTED_PUBLISH_S = 5.0, 1.0


def values(deployments: int, routes: int, tiers: int = 3) -> dict[str, Any]:
    """The catalog as a file's values; ten providers, each with one endpoint."""
    return {
        "format": FORMAT,
        "providers": [{"id": f"p{n}", "category": "bench"} for n in range(10)],
        "accounts": [
            {
                "id": f"k{n}",
                "provider_id": f"p{n}",
                "auth_kind": "anonymous",
                "billing_kind": "metered",
            }
            for n in range(10)
        ],
        "endpoints": [
            {"id": f"e{n}", "account_id": f"k{n}", "base_url": f"https://p{n}.example.invalid/v1/"}
            for n in range(10)
        ],
        "models": [{"id": f"m{n}", "upstream_name": f"model-{n}"} for n in range(20)],
        "serving_models": [
            {
                "id": f"d{n:04}",
                "endpoint_id": f"e{n % 10}",
                "model_id": f"m{n % 20}",
                "protocol": "chat-completions",
                "rpm_limit": 1_000_000,
                "capabilities": {"tools": True, "context_window": 128_000},
            }
            for n in range(deployments)
        ],
        "routes": [{"id": f"r{n}", "alias": f"r{n}"} for n in range(routes)],
        "targets": [
            {
                "id": f"r{n}-{place}",
                "route_id": f"r{n}",
                "serving_model_id": f"d{(n * tiers + place) % deployments:04}",
                "position": place,
            }
            for n in range(routes)
            for place in range(tiers)
        ],
    }


def timed(call: Callable[[], Any]) -> tuple[float, float]:
    """Seconds by the wall and of this process's processors."""
    wall, cpu = perf_counter(), process_time()
    call()
    return perf_counter() - wall, process_time() - cpu


def median(figures: list[float]) -> float:
    return sorted(figures)[len(figures) // 2]


class Readers:
    """Decides over and over on a thread of its own; ``rate`` is decisions a second of its time."""

    def __init__(self, runtime: Any) -> None:
        self._runtime, self._over = runtime, threading.Event()
        self._thread = threading.Thread(target=self._read)
        self.count, self.took_s, self.revisions = 0, 0.0, set[int]()

    @property
    def rate(self) -> float:
        return self.count / self.took_s

    def __enter__(self) -> Readers:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _read(self) -> None:
        from routeradmin.engine.request import SelectRequest
        from routeradmin.engine.resolve import resolve
        from routeradmin.engine.select import pick

        runtime, rng, started = self._runtime, Random(3), perf_counter()
        while not self._over.is_set():
            snapshot = runtime.current.snapshot
            request = SelectRequest(f"r{self.count % 300}", input_tokens=100)
            resolved = resolve(snapshot, request.model)
            pick(resolved, request, runtime.store, runtime.clock(), rng)
            self.revisions.add(snapshot.revision)
            self.count += 1
        self.took_s = perf_counter() - started


def burn(seconds: float) -> None:
    """Plain Python for so long, sharing the interpreter as any other thread does."""
    until, number = perf_counter() + seconds, 0
    while perf_counter() < until:
        number = (number * 31 + 7) % 1_000_003


def measure(deployments: int, routes: int, repeat: int) -> None:
    from routeradmin.catalog.files import write
    from routeradmin.catalog.files.reading import from_values
    from routeradmin.services import changes, publishing
    from routeradmin.services import runtime as runtimes

    runtime = runtimes.get()
    publishing.load(runtime)
    runtime.accepting = True
    by = changes.Actor("bench")
    data = write(from_values(values(deployments, routes)), "json")

    def publish(number: int) -> Callable[[], Any]:
        patch = {"weight": 2 + number}
        return lambda: changes.update("deployments", "d0500", patch, by, if_match="*")

    report("import", *timed(lambda: changes.import_file(data, by)), WANTED_IMPORT_S)
    again = timed(lambda: changes.import_file(data, by, mode="replace", dry_run=True))
    report("dry run, no difference", *again)
    single = [timed(publish(number)) for number in range(repeat)]
    report("publish one edit", *map(median, zip(*single, strict=True)), WANTED_PUBLISH_S)
    report("roll back", *timed(lambda: changes.rollback(1, by)), WANTED_PUBLISH_S)

    with Readers(runtime) as alone:
        threading.Event().wait(1.0)
    with Readers(runtime) as beside_publishing:
        took_s = sum(timed(publish(100 + number))[0] for number in range(repeat))
    with Readers(runtime) as beside_work:
        burn(took_s)
    ratio = beside_publishing.rate / beside_work.rate
    print(f"{'readers alone':28}{alone.rate:10.0f} decisions/s")
    print(f"{'beside endless publishing':28}{beside_publishing.rate:10.0f} decisions/s", end="")
    print(f"  ({len(beside_publishing.revisions)} revisions seen)")
    print(f"{'beside as much plain Python':28}{beside_work.rate:10.0f} decisions/s")
    print(f"{'ratio':28}{ratio:10.2f}  (1 or more: publishing itself costs readers nothing)")


def report(name: str, wall_s: float, cpu_s: float, wanted_s: float | None = None) -> None:
    wanted = f"  wanted: under {wanted_s:.0f} s" if wanted_s else ""
    print(f"{name:28}{wall_s:10.3f} s ({cpu_s:.3f} s of processor){wanted}")


def run() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--deployments", type=int, default=1000)
    parser.add_argument("--routes", type=int, default=300)
    parser.add_argument("--repeat", type=int, default=7)
    given = parser.parse_args(sys.argv[1:] if __name__ == "__main__" else [])
    print(f"catalog of {given.deployments} deployments and {given.routes} routes")
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        os.environ["ROUTERADMIN_DATA_DIR"] = folder
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "routeradmin.settings")
        import django
        from django.core.management import call_command
        from django.db import connections

        django.setup()
        call_command("migrate", verbosity=0)
        stack.callback(connections.close_all)
        measure(given.deployments, given.routes, given.repeat)


if __name__ == "__main__":
    run()
