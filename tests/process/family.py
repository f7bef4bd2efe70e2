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


def holder(pids: list[int], client_port: int) -> int:
    """Which of them serves the loopback connection that comes from this port."""
    inodes = set()
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if int(fields[2].rpartition(":")[2], 16) == client_port:
            inodes.add(f"socket:[{fields[9]}]")
    for pid in pids:
        for handle in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                if os.readlink(handle) in inodes:
                    return pid
    raise AssertionError(f"none of {pids} serves port {client_port}")
