"""Where alerts are sent."""

from __future__ import annotations

from django.db import models

from routeradmin.constraints import filled
from routeradmin.versioned import Versioned


class AlertEvent(models.TextChoices):
    """What a webhook may be told of; the value is the message's ``type``."""

    COOLDOWN_STORM = "cooldown.storm"
    NEEDS_ATTENTION = "candidate.needs_attention"
    ROUTE_WITHOUT_TARGET = "route.without_target"
    LAGGARD_PROCESS = "process.laggard"
    JOURNAL_DROPS = "journal.drops"


class Webhook(Versioned):
    """``ciphertext`` is the sealed signing secret, ``fingerprint`` tells two of them apart;
    ``events`` empty means all. The last four say how it went lately and are no change of it."""

    uid = models.CharField(max_length=32, unique=True)
    name = models.CharField(max_length=256)
    url = models.CharField(max_length=4096)
    events = models.JSONField(default=list, blank=True)
    is_enabled = models.BooleanField(default=True)
    ciphertext = models.TextField()
    fingerprint = models.CharField(max_length=32)
    last_attempt_at = models.DateTimeField(null=True, blank=True)
    last_status = models.PositiveIntegerField(null=True, blank=True)
    last_error = models.CharField(max_length=300, blank=True, default="")
    failures = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ("name", "uid")
        constraints = (*filled("webhook", "uid", "name", "url", "ciphertext"),)

    def __str__(self) -> str:
        return self.name
