"""Figures for dashboards: counted where things happen, put into words when they are asked for."""

from __future__ import annotations

from routeradmin.services.metering.exposition import exposition
from routeradmin.services.metering.histogram import Histogram
from routeradmin.services.metering.meters import INFERENCE, SELECT, Meters
from routeradmin.services.metering.siblings import Siblings
from routeradmin.services.metering.text import CONTENT_TYPE

__all__ = [
    "CONTENT_TYPE",
    "INFERENCE",
    "SELECT",
    "Histogram",
    "Meters",
    "Siblings",
    "exposition",
]
