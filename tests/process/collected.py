"""Directories for servers of tests with what every first start makes alike, made once: static
files, and the tables of the database.

Compressing and migrating take seconds of processor time each. What a first start does by itself is
tested by ``test_start`` and ``tests/worker/test_static_files.py``.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

from tests import databases
from tests.process.server import manage

PREPARE = "from routeradmin.worker.management.commands.serve import prepare; prepare()"


@cache
def collected() -> Path:
    """A data directory with these in it."""
    directory = Path(tempfile.mkdtemp(prefix="routeradmin-static-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    done = manage(directory, "shell", "-c", PREPARE)
    assert done.returncode == 0, done.stderr
    return directory


def bring(directory: Path) -> Path:
    """Into a data directory that is new: no keys, which are each directory's own."""
    bring_static_files(directory)
    if databases.ON_POSTGRES:
        databases.copy(collected(), directory)
    else:
        shutil.copy(collected() / "routeradmin.sqlite3", directory)
    return directory


def bring_static_files(directory: Path) -> Path:
    """For servers that make their tables themselves, or have them elsewhere."""
    shutil.copytree(collected() / "staticfiles", directory / "staticfiles")
    return directory


def copy(source: Path, directory: Path) -> Path:
    """A whole data directory that no server uses now, with the database behind it."""
    shutil.copytree(source, directory)
    databases.copy(source, directory)
    return directory
