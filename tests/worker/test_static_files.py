"""Static files are collected when they changed, and only then."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from routeradmin.worker.static_files import collect_when_changed


@pytest.fixture
def source(tmp_path: Path, settings: Any) -> Path:
    directory = tmp_path / "source"
    directory.mkdir()
    (directory / "page.css").write_text("body {}")
    settings.STATICFILES_DIRS = [directory]
    settings.STATICFILES_FINDERS = ["django.contrib.staticfiles.finders.FileSystemFinder"]
    settings.STATIC_ROOT = tmp_path / "collected"
    return directory


def test_the_second_start_collects_nothing(source: Path, settings: Any) -> None:
    assert collect_when_changed()
    assert (settings.STATIC_ROOT / "page.css").read_text() == "body {}"
    assert not collect_when_changed()


def test_a_changed_file_and_a_new_one_are_collected(source: Path, settings: Any) -> None:
    collect_when_changed()
    (source / "page.css").write_text("body { color: red }")
    (source / "more.css").write_text("p {}")
    assert collect_when_changed()
    assert "red" in (settings.STATIC_ROOT / "page.css").read_text()
    assert (settings.STATIC_ROOT / "more.css").exists()


def test_a_collection_that_was_cut_short_is_made_again(source: Path, settings: Any) -> None:
    collect_when_changed()
    (settings.STATIC_ROOT / "page.css").unlink()
    (settings.STATIC_ROOT / ".collected-from").write_text("")
    assert collect_when_changed()
    assert (settings.STATIC_ROOT / "page.css").exists()
