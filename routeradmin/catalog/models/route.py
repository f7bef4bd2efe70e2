"""A public model name with a strategy and ordered targets."""

from __future__ import annotations

from django.db import models
from django.db.models import CheckConstraint, Q, UniqueConstraint

from routeradmin.catalog.models.base import Named, admin_state_field, tags_field
from routeradmin.catalog.models.deployment import Deployment
from routeradmin.catalog.models.policy import FallbackList, Policy
from routeradmin.constraints import INT31, between, filled, one_of
from routeradmin.engine.objects import AdminState, WhenExhausted

STRATEGIES = (
    "simple_shuffle",
    "round_robin",
    "least_busy",
    "latency_based",
    "priority_based",
    "usage_based",
    "rate_limit_aware",
    "fill_first",
)
WHEN_EXHAUSTED = [(choice.value, choice.value) for choice in WhenExhausted]


def known_strategy(table: str) -> CheckConstraint:
    """Empty is the catalog's default; ``custom:`` names a registered callable."""
    return CheckConstraint(
        condition=Q(strategy__in=["", *STRATEGIES]) | Q(strategy__startswith="custom:"),
        name=f"{table}_strategy_known",
    )


class Route(Named):
    """``strategy`` empty and ``policy`` NULL: the catalog's defaults."""

    alias = models.CharField(max_length=256)
    fallback_enabled = models.BooleanField(default=False)
    strategy = models.CharField(max_length=256, blank=True, default="")
    policy = models.ForeignKey(Policy, models.PROTECT, related_name="routes", null=True, blank=True)
    when_exhausted = models.CharField(
        max_length=16, choices=WHEN_EXHAUSTED, default=WhenExhausted.FAIL.value
    )
    max_wait_s = models.FloatField(default=0.0)
    affinity_ttl_s = models.FloatField(default=0.0)
    admin_state = admin_state_field()
    tags = tags_field()

    class Meta(Named.Meta):
        constraints = (
            *filled("route", "uid", "alias"),
            known_strategy("route"),
            one_of("route", "when_exhausted", WhenExhausted),
            one_of("route", "admin_state", AdminState),
            between("route", "max_wait_s", 0, INT31),
            between("route", "affinity_ttl_s", 0, INT31),
        )

    @property
    def label(self) -> str:
        return self.name or self.alias


class RoutePreview(models.Model):
    """A place in a route's preview list."""

    route = models.ForeignKey(Route, models.CASCADE, related_name="preview_list")
    deployment = models.ForeignKey(Deployment, models.PROTECT, related_name="preview_places")
    position = models.PositiveIntegerField()

    class Meta:
        ordering = ("route", "position")
        constraints = (
            UniqueConstraint(fields=["route", "position"], name="routepreview_one_per_position"),
            between("routepreview", "position", 0, INT31),
        )

    def __str__(self) -> str:
        return f"{self.route_id}[{self.position}]"


class FallbackEntry(models.Model):
    """A place in a policy's typed fallback list."""

    fallback_list = models.ForeignKey(FallbackList, models.CASCADE, related_name="entries")
    route = models.ForeignKey(Route, models.PROTECT, related_name="fallback_places")
    position = models.PositiveIntegerField()

    class Meta:
        ordering = ("fallback_list", "position")
        constraints = (
            UniqueConstraint(
                fields=["fallback_list", "position"], name="fallbackentry_one_per_position"
            ),
            between("fallbackentry", "position", 0, INT31),
        )

    def __str__(self) -> str:
        return f"{self.fallback_list_id}[{self.position}]"
