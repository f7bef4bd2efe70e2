"""One process holds a directory, again and again if it likes; a second one is told by whom."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from routeradmin.adapters import directory_lock
from routeradmin.adapters.directory_lock import DirectoryInUse

HOLDER = """
import sys, pathlib
from routeradmin.adapters import directory_lock
directory_lock.hold(pathlib.Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def test_holding_twice_in_one_process_changes_nothing(tmp_path: Path) -> None:
    directory_lock.hold(tmp_path)
    directory_lock.hold(tmp_path)
    assert (tmp_path / directory_lock.NAME).read_text() == f"{os.getpid()}\n"
    directory_lock.let_go(tmp_path)
    directory_lock.let_go(tmp_path)


def test_another_process_is_refused_until_the_first_one_is_gone(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(DirectoryInUse, match=f"process {holder.pid} already serves"):
            directory_lock.hold(tmp_path)
        holder.kill()  # what a crash leaves behind holds nothing
        holder.wait()
    directory_lock.hold(tmp_path)
    directory_lock.let_go(tmp_path)
