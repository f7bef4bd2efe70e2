"""Who did what, from where, and why; appended, never altered."""

from __future__ import annotations

from django.db import models

from routeradmin.constraints import filled


class AuditEntry(models.Model):
    """``changes`` maps a field to [before, after]; secrets appear as fingerprints only, webhooks'
    addresses as host and fingerprint.

    The database refuses an update (a trigger), so that an entry stays what it was.
    """

    at = models.DateTimeField(db_index=True)
    actor = models.CharField(max_length=300)
    source = models.CharField(max_length=128, blank=True, default="")
    action = models.CharField(max_length=64)
    kind = models.CharField(max_length=32, blank=True, default="")
    object_id = models.CharField(max_length=600, blank=True, default="")
    changes = models.JSONField(default=dict, blank=True)
    reason = models.TextField(blank=True, default="")
    revision = models.PositiveIntegerField(null=True, blank=True)

    class Meta:
        ordering = ("-id",)
        verbose_name_plural = "audit entries"
        constraints = (*filled("auditentry", "actor", "action"),)
        indexes = (models.Index(fields=["kind", "object_id"], name="audit_object"),)

    def __str__(self) -> str:
        return f"{self.actor} {self.action} {self.object_id}"
