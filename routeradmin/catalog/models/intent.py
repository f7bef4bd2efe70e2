"""What a request without a chosen model may be about, and the route that serves it."""

from __future__ import annotations

from django.db import models

from routeradmin.catalog.models.base import Named
from routeradmin.catalog.models.route import Route
from routeradmin.constraints import filled


class Intent(Named):
    description = models.TextField(blank=True, default="")
    examples = models.JSONField(default=list, blank=True)
    keywords = models.JSONField(default=list, blank=True)
    route = models.ForeignKey(Route, models.PROTECT, related_name="intents")
    local_only = models.BooleanField(default=False)

    class Meta(Named.Meta):
        constraints = (*filled("intent", "uid"),)
