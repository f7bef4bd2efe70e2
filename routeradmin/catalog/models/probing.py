"""How health probes ask, as endpoints and deployments both state it."""

from __future__ import annotations

from django.db import models
from django.db.models import CheckConstraint

from routeradmin.constraints import INT31, between
from routeradmin.engine.objects import ProbeMode

PROBE_MODES = [(mode.value, mode.value) for mode in ProbeMode]


class Probed(models.Model):
    """The numbers of a ``probe`` table; the mode is each table's own. Seconds."""

    probe_interval_s = models.FloatField(default=30.0)
    probe_timeout_s = models.FloatField(default=5.0)
    probe_failure_threshold = models.PositiveIntegerField(default=5)
    probe_path = models.CharField(max_length=4096, blank=True, default="")

    class Meta:
        abstract = True


def probe_constraints(table: str) -> list[CheckConstraint]:
    return [
        between(table, "probe_interval_s", 0, INT31),
        between(table, "probe_timeout_s", 0, INT31),
        between(table, "probe_failure_threshold", 1, INT31),
    ]
