"""A published catalog, whole: who, why, when, its digest, and how things stood."""

from __future__ import annotations

from django.db import models

from routeradmin.constraints import between, filled


class Revision(models.Model):
    """``document`` is the canonical JSON; ``health`` counts candidates by state at publish."""

    number = models.PositiveIntegerField(unique=True)
    author = models.CharField(max_length=256)
    reason = models.TextField(blank=True, default="")
    created_at = models.DateTimeField()
    digest = models.CharField(max_length=64)
    document = models.TextField()
    health = models.JSONField(default=dict, blank=True)

    class Meta:
        ordering = ("-number",)
        constraints = (
            *filled("revision", "author", "digest", "document"),
            between("revision", "number", 1),
        )

    def __str__(self) -> str:
        return f"r{self.number}"
