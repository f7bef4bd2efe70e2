"""Recorded turns with their attempts. Prompts and answers are never stored."""

from __future__ import annotations

from django.db import models
from django.db.models import UniqueConstraint

from routeradmin.constraints import between, filled


class Turn(models.Model):
    """One request carried through attempts until it halts. ``key`` is the API key's id.

    ``routing`` is what had a say beside the route: intent, rule, preferences, session.
    """

    uid = models.CharField(max_length=64, unique=True)
    request_id = models.CharField(max_length=128, blank=True, default="", db_index=True)
    route = models.CharField(max_length=600, db_index=True)
    model = models.CharField(max_length=600, blank=True, default="")
    key = models.CharField(max_length=64, blank=True, default="", db_index=True)
    revision = models.PositiveIntegerField(default=0)
    halt = models.CharField(max_length=32, blank=True, default="", db_index=True)
    started_at = models.DateTimeField(db_index=True)
    duration_ms = models.FloatField(null=True, blank=True)
    overhead_ms = models.FloatField(null=True, blank=True)
    warnings = models.JSONField(default=list, blank=True)
    routing = models.JSONField(null=True, blank=True)

    class Meta:
        ordering = ("-id",)
        constraints = (*filled("turn", "uid"),)

    def __str__(self) -> str:
        return self.uid


class Attempt(models.Model):
    """One started attempt. A missing figure is NULL, never 0."""

    turn = models.ForeignKey(Turn, models.CASCADE, related_name="attempts")
    n = models.PositiveIntegerField()
    target = models.CharField(max_length=256, blank=True, default="")
    deployment = models.CharField(max_length=256, db_index=True)
    credential = models.CharField(max_length=256, blank=True, default="")
    provenance = models.JSONField(default=dict, blank=True)
    auth_kind = models.CharField(max_length=32, blank=True, default="")
    billing_kind = models.CharField(max_length=32, blank=True, default="")
    failure_class = models.CharField(max_length=32, blank=True, default="", db_index=True)
    status = models.PositiveIntegerField(null=True, blank=True)
    dispatch = models.CharField(max_length=16, blank=True, default="")
    visible_events = models.PositiveIntegerField(default=0)
    waited_ms = models.FloatField(default=0)
    duration_ms = models.FloatField(null=True, blank=True)
    ttft_ms = models.FloatField(null=True, blank=True)
    input_tokens = models.BigIntegerField(null=True, blank=True)
    output_tokens = models.BigIntegerField(null=True, blank=True)
    message = models.TextField(blank=True, default="")

    class Meta:
        ordering = ("turn", "n")
        constraints = (
            UniqueConstraint(fields=["turn", "n"], name="attempt_number_once_a_turn"),
            between("attempt", "n", 1),
        )

    def __str__(self) -> str:
        return f"{self.turn_id}#{self.n}"
