"""Catalog files: read from bytes, written to bytes."""

from __future__ import annotations

from routeradmin.catalog.files.draft import Draft, Remark, Unfit
from routeradmin.catalog.files.opening import FORMATS, is_foreign, open_file
from routeradmin.catalog.files.reading import read
from routeradmin.catalog.files.syntax import FileFormat
from routeradmin.catalog.files.writing import write

__all__ = [
    "FORMATS",
    "Draft",
    "FileFormat",
    "Remark",
    "Unfit",
    "is_foreign",
    "open_file",
    "read",
    "write",
]
