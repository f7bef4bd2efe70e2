"""Retry, turn, cooldown and classification numbers, shared by routes; typed fallback lists."""

from __future__ import annotations

from django.db import models
from django.db.models import UniqueConstraint

from routeradmin.catalog.models.base import Named
from routeradmin.constraints import INT31, between, filled, one_of

_SECONDS = (
    "retry_max_server_delay_s",
    "cooldown_rate_limited_base_s",
    "cooldown_rate_limited_cap_s",
    "cooldown_quota_s",
    "cooldown_unauthorized_s",
    "cooldown_not_found_s",
    "cooldown_transient_base_s",
    "cooldown_transient_cap_s",
)


class Policy(Named):
    """Columns are named ``<table>_<field>`` after the catalog format; defaults are the format's."""

    retry_max_attempts = models.PositiveIntegerField(default=4)
    retry_stream_max_attempts = models.PositiveIntegerField(null=True, blank=True)
    retry_backoff_base_ms = models.PositiveIntegerField(default=500)
    retry_max_doublings = models.PositiveIntegerField(default=4)
    retry_max_server_delay_s = models.FloatField(default=30.0)
    retry_jitter = models.FloatField(default=0.0)
    turn_max_targets = models.PositiveIntegerField(default=64)
    turn_max_turn_attempts = models.PositiveIntegerField(default=32)
    turn_deadline_s = models.FloatField(null=True, blank=True)
    turn_max_fallback_routes = models.PositiveIntegerField(default=5)
    turn_rotate = models.BooleanField(default=True)
    turn_replay_unanswered = models.BooleanField(default=True)
    turn_move_on_unauthorized = models.BooleanField(default=False)
    cooldown_enabled = models.BooleanField(default=True)
    cooldown_rate_limited_base_s = models.FloatField(default=1.0)
    cooldown_rate_limited_cap_s = models.FloatField(default=1800.0)
    cooldown_quota_s = models.FloatField(default=1800.0)
    cooldown_unauthorized_s = models.FloatField(default=1800.0)
    cooldown_not_found_s = models.FloatField(default=1800.0)
    cooldown_transient_base_s = models.FloatField(default=5.0)
    cooldown_transient_cap_s = models.FloatField(default=60.0)
    cooldown_allowed_fails = models.PositiveIntegerField(default=3)
    cooldown_min_requests = models.PositiveIntegerField(default=10)
    cooldown_success_threshold = models.PositiveIntegerField(default=3)
    classify = models.JSONField(default=list, blank=True)

    class Meta(Named.Meta):
        verbose_name_plural = "policies"
        constraints = (
            *filled("policy", "uid"),
            between("policy", "retry_max_attempts", 1, 16),
            between("policy", "retry_stream_max_attempts", 1, 16, optional=True),
            between("policy", "retry_jitter", 0, 1),
            between("policy", "turn_deadline_s", 0, INT31, optional=True),
            *(between("policy", field, 0, INT31) for field in _SECONDS),
        )


class FallbackKind(models.TextChoices):
    """Which failures a list is for; ``general`` serves those without a list of their own."""

    GENERAL = "general"
    CONTEXT_WINDOW = "context_window"
    CONTENT_POLICY = "content_policy"
    RATE_LIMIT = "rate_limit"


class FallbackList(models.Model):
    """A typed list of a policy. The row says the list was given, even when it is empty."""

    policy = models.ForeignKey(Policy, models.CASCADE, related_name="fallback_lists")
    kind = models.CharField(max_length=16, choices=FallbackKind)

    class Meta:
        ordering = ("policy", "kind")
        constraints = (
            UniqueConstraint(fields=["policy", "kind"], name="fallbacklist_one_per_kind"),
            one_of("fallbacklist", "kind", FallbackKind.values),
        )

    def __str__(self) -> str:
        return f"{self.policy_id}:{self.kind}"
