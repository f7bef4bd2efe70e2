"""Which part of the recorded turns went by which route, of late."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from django.db.models import Count

from routeradmin.journal.models import Turn
from routeradmin.services import runtime
from routeradmin.services.runtime import Runtime

SPAN = timedelta(minutes=15)
KEPT_S = 5
_latest: list[tuple[Runtime, int, Mapping[str, float]]] = []


def shares() -> Mapping[str, float]:
    """Route id -> its share of the turns of the last 15 minutes, 0 to 1; a few seconds old."""
    current = runtime.get()
    now = current.clock()
    period = int(now // KEPT_S)
    if not _latest or _latest[0][0] is not current or _latest[0][1] != period:
        _latest[:] = [(current, period, _read(now))]
    return _latest[0][2]


def _read(now: float) -> Mapping[str, float]:
    since = datetime.fromtimestamp(now, UTC) - SPAN
    counted = dict(
        Turn.objects.filter(started_at__gte=since)
        .order_by()
        .values_list("route")
        .annotate(number=Count("pk"))
    )
    total = sum(counted.values())
    return {route: number / total for route, number in counted.items()}
