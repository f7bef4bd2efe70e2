"""What the kernel tells of a process: its children, its memory, its open files (Linux)."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def children(pid: int) -> list[int]:
    """The processes it started that still run; none if it is gone."""
    found: list[int] = []
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            found += map(int, (task / "children").read_text().split())
    return found


def resident_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_BYTES


def open_files(pid: int) -> int:
    """File descriptors: files, sockets, pipes."""
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def send(pids: list[int], number: signal.Signals) -> None:
    """To each that is still there."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)
