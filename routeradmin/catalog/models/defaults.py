"""The catalog's ``defaults`` table: one row."""

from __future__ import annotations

from django.db import models
from django.db.models import CheckConstraint, Q

from routeradmin.catalog.models.policy import Policy
from routeradmin.catalog.models.route import known_strategy
from routeradmin.versioned import Versioned


class Defaults(Versioned):
    """``strategy`` empty: ``simple_shuffle``; ``policy`` NULL: the built-in one. ``intents`` is the
    format's table, without what it leaves out."""

    strategy = models.CharField(max_length=256, blank=True, default="")
    policy = models.ForeignKey(Policy, models.PROTECT, related_name="+", null=True, blank=True)
    auto_priority = models.JSONField(default=list, blank=True)
    intents = models.JSONField(default=dict, blank=True)

    class Meta:
        verbose_name_plural = "defaults"
        constraints = (
            CheckConstraint(condition=Q(id=1), name="defaults_single_row"),
            known_strategy("defaults"),
        )

    def __str__(self) -> str:
        return "defaults"
