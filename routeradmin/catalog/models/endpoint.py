"""A base URL, reached with a credential; owns timeouts, proxy, CA."""

from __future__ import annotations

from django.db import models

from routeradmin.catalog.models.base import Named
from routeradmin.catalog.models.credential import Credential
from routeradmin.catalog.models.probing import PROBE_MODES, Probed, probe_constraints
from routeradmin.constraints import INT31, between, filled, one_of
from routeradmin.engine.objects import ProbeMode


class Endpoint(Named, Probed):
    credential = models.ForeignKey(Credential, models.PROTECT, related_name="endpoints")
    base_url = models.CharField(max_length=4096)
    headers = models.JSONField(default=dict, blank=True)
    proxy = models.CharField(max_length=4096, blank=True, default="")
    ca_file = models.CharField(max_length=4096, blank=True, default="")
    connect_timeout_s = models.FloatField(default=15.0)
    header_timeout_s = models.FloatField(default=60.0)
    idle_timeout_s = models.FloatField(default=180.0)
    total_timeout_s = models.FloatField(default=600.0)
    probe_mode = models.CharField(max_length=8, choices=PROBE_MODES, default=ProbeMode.OFF.value)

    class Meta(Named.Meta):
        constraints = (
            *filled("endpoint", "uid", "base_url"),
            *(
                between("endpoint", f"{stage}_timeout_s", 0, INT31)
                for stage in ("connect", "header", "idle", "total")
            ),
            one_of("endpoint", "probe_mode", ProbeMode),
            *probe_constraints("endpoint"),
        )
