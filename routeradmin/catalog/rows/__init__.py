"""The bridge between the neutral document and the catalog's tables, both ways."""

from __future__ import annotations

from routeradmin.catalog.rows.delta import Delta, delta
from routeradmin.catalog.rows.reading import load
from routeradmin.catalog.rows.versions import version_of
from routeradmin.catalog.rows.writing import store

__all__ = ["Delta", "delta", "load", "store", "version_of"]
