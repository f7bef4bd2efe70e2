"""``python -m tests.soak``: an hour's traffic squeezed into minutes, and whether anything grows.

``SOAK_S`` seconds (600) for each of ``SOAK_STORES`` (``embedded,shared``): one process on SQLite;
two workers on PostgreSQL and Redis. Prints a table of everything looked at: at the start, after
the warm-up (half of the time), at the end. Ends with 1 when something grew after the warm-up, when
a request failed (429 is none), or when a process did not tell of its tables to the end.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.chaos.book import Book
from tests.chaos.load import Traffic
from tests.chaos.stage import CATALOG
from tests.process.server import ROOT, Server, environment, until
from tests.scaleout.postgres import PostgresServer
from tests.scaleout.provider import provider
from tests.scaleout.servers import RedisServer
from tests.scaleout.system import System, environment_of
from tests.soak.judging import COMPARED, REST, Row, rows, untold
from tests.soak.looking import Looking, Sizes, postgres_rows, sqlite_rows

LOOK_EVERY_S = 5.0
REST_S = 20.0  # by then idle connections are closed
RETAIN_EVERY_S = 30.0
KEPT = "200"  # turns, and events, as the hundreds of thousands that are kept else
FINE = (200, 429)
TAKING = ("select", "chat", "stream")  # requests that take a lease
LINES = 60
LAUNCHER = "tests/soak/serve.py"
PACE = float(os.environ.get("SOAK_PACE", "3"))  # requests a second come and go with it


def main() -> None:
    lasts_s = float(os.environ.get("SOAK_S", "600"))
    wrong: list[str] = []
    for store in os.environ.get("SOAK_STORES", "embedded,shared").split(","):
        with ExitStack() as stack:
            looking = stack.enter_context(STORES[store]())
            print(f"{store}: {lasts_s:g} s", flush=True)
            book, looks = asyncio.run(play(looking, lasts_s))
            if told := failed(book):
                log = looking.server.log.read_text().splitlines()
                print("\n".join((*told, "last lines of the log:", *log[-LINES:])))
        found = rows(looks, sum(one.kind.startswith(TAKING) for one in book.samples))
        show(book, found)
        wrong += [f"{one.name} grows" for one in found if one.grows]
        wrong += [*failed(book), *untold(looks, looking.serving)]
    print("\n".join(wrong) or "nothing grows")
    sys.exit(1 if wrong else 0)


def failed(book: Book) -> list[str]:
    """A system that answers nothing does not grow either."""
    kinds = Counter(f"{one.kind}: {one.status}" for one in book.samples if one.status not in FINE)
    found = [f"{count} x {kind}" for kind, count in kinds.items()]
    return found if book.samples else ["no request was made"]


async def play(looking: Looking, lasts_s: float) -> tuple[Book, list[tuple[float, Sizes]]]:
    book = Book()
    looks = [(0.0, at_rest(looking.sizes()))]
    traffic = Traffic(looking.server.address, book, seed=1, pace=PACE)
    running = asyncio.create_task(traffic.run(with_consoles=True))
    began = retained_at = time.monotonic()
    while (past_s := time.monotonic() - began) < lasts_s:
        looks.append((past_s / lasts_s, await asyncio.to_thread(looking.sizes)))
        if time.monotonic() > retained_at + min(RETAIN_EVERY_S, lasts_s * COMPARED / 2):
            await asyncio.to_thread(retain, looking.server)
            retained_at = time.monotonic()
            looks.append((past_s / lasts_s, await asyncio.to_thread(looking.sizes)))
        await asyncio.sleep(LOOK_EVERY_S)
    traffic.stop()
    await running
    await asyncio.sleep(REST_S)
    looks.append((1.0, at_rest(await asyncio.to_thread(looking.sizes))))
    return book, looks


def at_rest(sizes: Sizes) -> Sizes:
    return {
        name.replace("files", REST): size for name, size in sizes.items() if name.endswith("files")
    }


def retain(server: Server) -> None:
    """What the worker does every ten minutes, at the scale of the run."""
    command = [sys.executable, "manage.py", "retain", "--turn-count", KEPT, "--event-count", KEPT]
    env = environment(server.directory, **server.env)
    subprocess.run(command, cwd=ROOT, env=env, check=True, stdout=subprocess.DEVNULL)


@contextmanager
def embedded() -> Iterator[Looking]:
    with ExitStack() as stack:
        server, directory = started(stack, ("", ""), ())
        yield Looking(
            server, directory / "tables", sqlite_rows(directory / "data/routeradmin.sqlite3"), 1
        )


@contextmanager
def shared() -> Iterator[Looking]:
    with ExitStack() as stack:
        redis, database = RedisServer(), PostgresServer()
        for engine in (redis, database):
            stack.callback(engine.close)
            engine.start()
        server, directory = started(stack, (database.url, redis.url), ("--workers", "2"))
        client = redis.client()
        stack.callback(client.close)
        until(lambda: client.hlen("{routeradmin}:processes") == 2, 30)
        # Their supervisor tells too.
        yield Looking(server, directory / "tables", postgres_rows(database.url), 2 + 1, client)


STORES = {"embedded": embedded, "shared": shared}


def started(
    stack: ExitStack, engines: tuple[str, str], args: tuple[str, ...]
) -> tuple[Server, Path]:
    directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="routeradmin-soak-")))
    (directory / "tables").mkdir()
    upstream = stack.enter_context(provider())
    more = {
        "ROUTERADMIN_REDIS_LIMIT_MS": os.environ.get("SOAK_REDIS_LIMIT_MS", "40"),
        "SOAK_TABLES": str(directory / "tables"),
    }
    system = System(directory / "data", environment_of(*engines, **more))
    stack.callback(system.close)
    server = system.make(*args)
    server.command = (LAUNCHER, *server.command[1:])
    server.start()
    system.put_catalog(server, CATALOG.read_bytes().replace(b"PROVIDER", upstream.encode()))
    return server, directory


def show(book: Book, found: list[Row]) -> None:
    print(f"  {len(book.samples)} requests")
    print(f"  {'':40} {'start':>10} {'warm':>10} {'end':>10} {'limit':>10}")
    for one in found:
        figures = " ".join(f"{size:10.1f}" for size in one[1:])
        print(f"  {one.name:40} {figures}{'   GROWS' if one.grows else ''}")


if __name__ == "__main__":
    main()
