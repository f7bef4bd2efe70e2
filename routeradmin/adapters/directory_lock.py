"""One server per data directory: a lock that ends with its process, however that ends."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NAME = "serving.lock"

_held: dict[Path, int] = {}


class DirectoryInUse(Exception):
    """Another process holds the directory; the text says which and what to do."""

    def __init__(self, directory: Path, holder: str) -> None:
        who = f"process {holder}" if holder.isdecimal() else "another process"
        super().__init__(
            f"{who} already serves from {directory}: stop it first, or give this one a directory "
            "of its own with ROUTERADMIN_DATA_DIR"
        )


def hold(directory: Path) -> None:
    """Hold the directory for as long as this process lives; again in the same process: no change.

    Runtime state lives in the process, so a second server would hand out slots that the first
    knows nothing of. Raises DirectoryInUse.
    """
    path = directory.resolve() / NAME
    if path in _held:
        return
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(handle, 32, 0).decode("ascii", "replace").strip()
        os.close(handle)
        raise DirectoryInUse(directory, holder) from None
    os.ftruncate(handle, 0)
    os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
    _held[path] = handle


def let_go(directory: Path) -> None:
    """Give the directory back before the process ends; harmless where it is not held."""
    handle = _held.pop(directory.resolve() / NAME, None)
    if handle is not None:
        os.close(handle)


@contextmanager
def one_at_a_time(path: Path) -> Iterator[None]:
    """A block that processes pass through one after the other; ``path`` is a file of its own."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
