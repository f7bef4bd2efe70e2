"""``POST /api/v1/select`` over HTTP, beside an empty ASGI app and an ordinary async ninja view.

All three run on uvicorn with uvloop and httptools, one core for the server and one for the load.
Rounds alternate, medians are printed, and the ratios are what counts.
"""

from __future__ import annotations

from benchmarks.catalogs import catalog
from benchmarks.rounds import Medians, Subject, by_turns, line
from benchmarks.servers import routeradmin, uvicorn

ROUNDS = 5
SECONDS = 3.0
ASKED = {"model": "chat", "input_tokens": 200}
EMPTY = "empty ASGI app"
UNCALLED = 9  # a port of no upstream: nothing is called here


def run() -> None:
    with (
        uvicorn("benchmarks.empty_app:application") as empty,
        routeradmin(catalog(UNCALLED, deployments=10), "benchmarks.settings") as product,
    ):
        subjects = {
            EMPTY: Subject(empty, "/", ASKED),
            "select": Subject(product, "/api/v1/select", ASKED),
            "async ninja view": Subject(product, "/bench/select", ASKED),
        }
        for connections in (16, 64):
            show(connections, by_turns(subjects, connections, rounds=ROUNDS, seconds=SECONDS))


def show(connections: int, rows: dict[str, Medians]) -> None:
    print(f"\nPOST select, {connections} connections, {ROUNDS} rounds of {SECONDS:g} s (medians)")
    for name, found in rows.items():
        print(line(name, found, f"{found.rps / rows[EMPTY].rps:6.1%} of empty"))
