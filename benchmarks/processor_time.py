"""Processor time of a server, found by the port it listens on: unlike a rate it hardly depends on
what else the machine is doing. Linux only; elsewhere it reads as 0."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

PROC = Path("/proc")
TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
LISTENING = "0A"


def listener(port: int) -> int | None:
    """The process that listens on this local port, None where that cannot be seen."""
    sockets = {f"socket:[{inode}]" for inode in _inodes(port)}
    for process in PROC.glob("[0-9]*"):
        with suppress(OSError):
            for handle in (process / "fd").iterdir():
                with suppress(OSError):
                    if os.readlink(handle) in sockets:
                        return int(process.name)
    return None


def _inodes(port: int) -> list[str]:
    found = []
    for table in ("tcp", "tcp6"):
        with suppress(OSError):
            for line in (PROC / "net" / table).read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == LISTENING and int(fields[1].rpartition(":")[2], 16) == port:
                    found.append(fields[9])
    return found


def used_s(pid: int | None) -> float:
    """User and system time of all its threads so far, in seconds."""
    if pid is None:
        return 0.0
    fields = (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_A_SECOND
