"""Static files as a first start collects them, for directories on which a test starts a server.

Hashing and compressing take seconds and come to the same in every directory. What a first start
does by itself is tested by ``test_start`` and ``tests/worker/test_static_files.py``.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

from tests.process.server import manage

COLLECT = "from routeradmin.worker.static_files import collect_when_changed as c; assert c()"


@cache
def collected() -> Path:
    """A data directory with nothing else in it."""
    directory = Path(tempfile.mkdtemp(prefix="routeradmin-static-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    done = manage(directory, "shell", "-c", COLLECT)
    assert done.returncode == 0, done.stderr
    return directory


def bring(directory: Path) -> Path:
    """Into a data directory that is new."""
    shutil.copytree(collected() / "staticfiles", directory / "staticfiles")
    return directory
