"""Collects the static files into the data directory, where they are served from, when they change.

Hashing and compressing take seconds, so a start with the same files as last time skips both.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command

from routeradmin.adapters import directory_lock

MARK = ".collected-from"


def collect_when_changed() -> bool:
    """False when what lies there already is from the very files there are now.

    Of processes that start at once on one directory the first collects, and the others wait.
    """
    root = Path(settings.STATIC_ROOT)
    with directory_lock.one_at_a_time(root.with_name(f"{root.name}.lock")):
        return _collect(root)


def _collect(root: Path) -> bool:
    mark, current = root / MARK, fingerprint()
    if mark.is_file() and mark.read_text(encoding="utf-8") == current:
        return False
    mark.unlink(missing_ok=True)
    # From scratch: by itself the command leaves a file that is older than its last copy.
    call_command("collectstatic", interactive=False, verbosity=0, clear=True)
    mark.write_text(current, encoding="utf-8")
    return True


def fingerprint() -> str:
    """Changes with every file's path, size or time of change, and with the way of storing them."""
    digest = hashlib.sha256(settings.STORAGES["staticfiles"]["BACKEND"].encode())
    for line in sorted(_described()):
        digest.update(line.encode("utf-8", "surrogateescape") + b"\n")
    return digest.hexdigest()


def _described() -> Iterator[str]:
    for finder in get_finders():
        for path, storage in finder.list([]):
            found = os.stat(storage.path(path))
            yield f"{path} {found.st_size} {found.st_mtime_ns}"
