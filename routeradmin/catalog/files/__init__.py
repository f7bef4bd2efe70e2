"""Catalog files: read from bytes, written to bytes."""

from __future__ import annotations

from routeradmin.catalog.files.reading import read
from routeradmin.catalog.files.syntax import FileFormat
from routeradmin.catalog.files.writing import write

__all__ = ["FileFormat", "read", "write"]
