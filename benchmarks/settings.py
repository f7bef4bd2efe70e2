"""The product's settings plus one ordinary async ninja view to compare with."""

from __future__ import annotations

from routeradmin.settings import *  # noqa: F403

ROOT_URLCONF = "benchmarks.urls"
