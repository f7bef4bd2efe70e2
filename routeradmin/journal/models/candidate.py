"""The part of a candidate's runtime state that survives a restart."""

from __future__ import annotations

from django.db import models
from django.db.models import UniqueConstraint

from routeradmin.constraints import filled


class CandidateRecord(models.Model):
    """``record`` is what the state store exported: cooldown, levels, health and their evidence."""

    deployment = models.CharField(max_length=256)
    credential = models.CharField(max_length=256)
    matched = models.CharField(max_length=256, blank=True, default="")
    record = models.JSONField()
    saved_at = models.DateTimeField()

    class Meta:
        ordering = ("deployment", "credential", "matched")
        constraints = (
            *filled("candidaterecord", "deployment", "credential"),
            UniqueConstraint(
                fields=["deployment", "credential", "matched"], name="candidaterecord_one_per_key"
            ),
        )

    def __str__(self) -> str:
        return f"{self.deployment}/{self.credential}"
