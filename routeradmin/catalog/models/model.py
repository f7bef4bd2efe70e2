"""An upstream model name with an id of its own."""

from __future__ import annotations

from django.db import models

from routeradmin.catalog.models.base import Named
from routeradmin.constraints import filled


class UpstreamModel(Named):
    upstream_name = models.CharField(max_length=256)

    class Meta(Named.Meta):
        constraints = (*filled("model", "uid", "upstream_name"),)
