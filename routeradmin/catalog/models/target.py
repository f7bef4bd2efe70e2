"""A deployment at a position of a route; targets that share a position form a tier."""

from __future__ import annotations

from django.db import models
from django.db.models import UniqueConstraint

from routeradmin.catalog.models.base import Declared
from routeradmin.catalog.models.deployment import Deployment
from routeradmin.catalog.models.route import Route
from routeradmin.constraints import INT31, between, filled


class Target(Declared):
    route = models.ForeignKey(Route, models.CASCADE, related_name="targets")
    deployment = models.ForeignKey(Deployment, models.PROTECT, related_name="targets")
    position = models.BigIntegerField(default=0)

    class Meta(Declared.Meta):
        ordering = ("position", "uid")  # type: ignore[assignment]  # the base sorts by one
        constraints = (
            *filled("target", "uid"),
            between("target", "position", 0, INT31),
            UniqueConstraint(fields=["route", "deployment"], name="target_deployment_once_a_route"),
        )
