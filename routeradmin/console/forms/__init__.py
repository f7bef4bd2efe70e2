"""The forms of the catalog, one file per noun."""

from __future__ import annotations
