"""Where alerts are sent, how that went, and what is wrong."""

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


class Delivery(models.Model):
    """One attempt to deliver one message; a message keeps its ``message_id`` in all of them.

    ``status`` is the receiver's, None where none came; ``next_at`` is when it is tried again, None
    where it is not. ``detail`` quotes nothing of the answer.
    """

    webhook = models.ForeignKey(Webhook, models.CASCADE, related_name="deliveries")
    message_id = models.CharField(max_length=64)
    type = models.CharField(max_length=64)
    at = models.DateTimeField(db_index=True)
    attempt = models.PositiveIntegerField()
    ok = models.BooleanField()
    status = models.PositiveIntegerField(null=True, blank=True)
    detail = models.CharField(max_length=300, blank=True, default="")
    duration_ms = models.FloatField()
    next_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-id",)
        constraints = (*filled("delivery", "message_id", "type"),)

    def __str__(self) -> str:
        return f"{self.type} {self.message_id} #{self.attempt}"


class Undelivered(models.Model):
    """A message on its way to one webhook, for whoever goes on with it where ``process`` ends.

    ``body`` is sent as it is; ``attempts`` were made, the next is due at ``due_at``.
    """

    webhook = models.ForeignKey(Webhook, models.CASCADE, related_name="undelivered")
    message_id = models.CharField(max_length=64)
    type = models.CharField(max_length=64)
    body = models.TextField()
    process = models.CharField(max_length=64)
    attempts = models.PositiveIntegerField()
    due_at = models.DateTimeField()

    class Meta:
        ordering = ("id",)
        constraints = (
            *filled("undelivered", "message_id", "type", "body", "process"),
            models.UniqueConstraint(fields=("webhook", "message_id"), name="undelivered_once"),
        )

    def __str__(self) -> str:
        return f"{self.type} {self.message_id}"


class Incident(models.Model):
    """Something that is, or was, wrong: of one ``type`` and ``subject`` one is open at most.

    ``facts`` are the latest; ``process`` found it; ``ended_at`` is None while it goes on.
    """

    type = models.CharField(max_length=64)
    subject = models.CharField(max_length=1024, blank=True, default="")
    facts = models.JSONField(default=dict, blank=True)
    process = models.CharField(max_length=64)
    began_at = models.DateTimeField(db_index=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-id",)
        constraints = (
            *filled("incident", "type", "process"),
            models.UniqueConstraint(
                fields=("type", "subject"),
                condition=models.Q(ended_at=None),
                name="incident_open_once",
            ),
        )

    def __str__(self) -> str:
        return f"{self.type} {self.subject}"
