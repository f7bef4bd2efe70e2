"""A state change with its evidence; its id is the cursor that readers follow."""

from __future__ import annotations

from django.db import models

from routeradmin.constraints import filled


class Event(models.Model):
    """``kind``: a state change (``cooldown-set``, ...), ``published``, or an action.

    ``set_by`` is ``result``, ``probe`` or ``user:NAME``; ``message`` is redacted upstream text.
    Events about no candidate leave its three parts empty.
    """

    kind = models.CharField(max_length=64)
    at = models.DateTimeField(db_index=True)
    deployment = models.CharField(max_length=256, blank=True, default="")
    credential = models.CharField(max_length=256, blank=True, default="")
    matched = models.CharField(max_length=256, blank=True, default="")
    set_by = models.CharField(max_length=300, blank=True, default="")
    failure_class = models.CharField(max_length=32, blank=True, default="")
    status = models.PositiveIntegerField(null=True, blank=True)
    message = models.TextField(blank=True, default="")
    until = models.DateTimeField(null=True, blank=True)
    level = models.PositiveIntegerField(null=True, blank=True)
    revision = models.PositiveIntegerField(null=True, blank=True)
    facts = models.JSONField(default=dict, blank=True)

    class Meta:
        ordering = ("-id",)
        constraints = (*filled("event", "kind"),)
        indexes = (models.Index(fields=["deployment", "credential", "id"], name="event_candidate"),)

    def __str__(self) -> str:
        return f"{self.kind} {self.deployment}/{self.credential}"
