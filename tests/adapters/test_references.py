"""References to secrets outside: read at use, refreshed when they change, or a reason."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from routeradmin.adapters.references import References, Resolved, is_reference
from routeradmin.adapters.sealing import Secret


def test_an_environment_variable_is_read_at_every_use() -> None:
    environ = {"LAB_KEY": "one"}
    references = References(environ)
    assert references.resolve("env:LAB_KEY") == Resolved(Secret("one"))
    environ["LAB_KEY"] = "two"
    assert references.resolve("env:LAB_KEY") == Resolved(Secret("two"))
    del environ["LAB_KEY"]
    assert references.resolve("env:LAB_KEY") == Resolved(
        None, "the environment variable LAB_KEY is not set"
    )


def test_the_process_s_own_environment_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_KEY", "from-process")
    assert References().resolve("env:LAB_KEY").secret == Secret("from-process")


def test_routeradmin_s_own_secrets_are_not_handed_out() -> None:
    found = References({"ROUTERADMIN_SECRET_KEY": "x"}).resolve("env:ROUTERADMIN_SECRET_KEY")
    assert found.secret is None
    assert "not handed out" in (found.reason or "")


def test_a_file_is_read_again_when_it_changes_or_is_replaced(tmp_path: Path) -> None:
    file = tmp_path / "key"
    references = References({})
    file.write_text("one\n")
    assert references.resolve(f"file:{file}").secret == Secret("one")
    file.write_text("three\r\n")
    assert references.resolve(f"file:{file}").secret == Secret("three")
    before = file.stat()
    other = tmp_path / "other"
    other.write_text("seven\r\n")
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.replace(file)  # as mounted secrets are replaced: same size and time, another inode
    assert references.resolve(f"file:{file}").secret == Secret("seven")
    file.unlink()
    assert references.resolve(f"file:{file}").reason == f"the file {file} does not exist"


def test_an_unchanged_file_is_not_read_again(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("one")
    references = References({})
    first = references.resolve(f"file:{file}")
    assert references.resolve(f"file:{file}") is first


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"", "is empty"), (b"\n", "is empty"), (b"\xff\xfe", "not UTF-8"), (b"x" * 70000, "larger")],
)
def test_a_file_without_a_usable_secret_says_why(
    tmp_path: Path, content: bytes, reason: str
) -> None:
    file = tmp_path / "key"
    file.write_bytes(content)
    found = References({}).resolve(f"file:{file}")
    assert found.secret is None
    assert reason in (found.reason or "")


def test_pipes_folders_and_relative_paths_are_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, reason in [
        (tmp_path / "pipe", "not a regular file"),
        (tmp_path, "not a regular file"),
        ("key.txt", "absolute path"),
        (f"{tmp_path}\0x", "absolute path"),
    ]:
        found = References({}).resolve(f"file:{path}")
        assert found.secret is None
        assert reason in (found.reason or "")


def test_other_names_are_stored_secrets() -> None:
    assert is_reference("env:A")
    assert is_reference("file:/a")
    assert not is_reference("lab-token")
    with pytest.raises(ValueError, match="env:NAME"):
        References({}).resolve("lab-token")
