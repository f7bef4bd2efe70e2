"""``manage.py`` with an hour's memory squeezed: ended leases and turns are remembered by the
thousand instead of the hundred thousand, so that a short run fills what a long one would.

Writes the sizes of the process's own tables to ``SOAK_TABLES``, a directory, every two seconds.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "routeradmin.settings")

KEPT = 2_000
EVERY_S = 2.0


def squeeze() -> None:
    from routeradmin.engine import leases, turn_book

    for module, name in ((leases, "REMEMBER_COUNT"), (turn_book, "TURNS_KEPT")):
        assert hasattr(module, name), f"{module.__name__} has no {name} any more"
        setattr(module, name, KEPT)
    assert hasattr(asyncio.tasks, "_all_tasks"), "Python keeps its tasks elsewhere now"


def every_task() -> Any:
    """Of all threads' loops; ``asyncio.all_tasks`` asks for one of them."""
    tasks: Any = asyncio.tasks
    return tasks._all_tasks


def tables() -> dict[str, int]:
    """Sizes of what a process keeps while it serves."""
    from routeradmin.services import runtime as runtimes

    runtime = runtimes._installed
    if runtime is None:
        return {}
    store: Any = runtime.store
    found = {
        "leases known": len(store._book._records),
        "leases open": store._book.open_count,
        "ends": len(store._book._ends),
        "turns": len(store._turns.ids()),
        "cursors": len(store._cursors),
        "states": len(list(store.states())),
        "keys": len(list(store._keys)),
        "sessions": len(runtime.affinity._bound),
        "journal": runtime.journal.waiting,
        "postponed": len(runtime.postponed),
        "threads": threading.active_count(),
        # Those that are done wait for the collector, which memory tells. (Not by the collector's
        # list of all objects: a tuple that another thread is just making must be its alone.)
        "tasks": sum(not one.done() for one in list(every_task())),
    }
    if runtime.peers is not None:
        found["under way"] = len(store.mirror._under_way)
        found["ends apart"] = len(store.apart._ends) + len(store.apart.untold)
    return found


def tell() -> None:
    directory = Path(os.environ["SOAK_TABLES"])
    while True:
        time.sleep(EVERY_S)
        try:
            found = tables()
        except RuntimeError:  # a table changed while it was walked through
            continue
        part = directory / f"{os.getpid()}.part"
        part.write_text(json.dumps(found))
        part.rename(directory / f"{os.getpid()}.json")


if __name__ == "__main__":
    from django.core.management import execute_from_command_line

    squeeze()
    threading.Thread(target=tell, daemon=True).start()
    execute_from_command_line(sys.argv)
