"""What people said of intent decisions. Prompts are never stored here."""

from __future__ import annotations

from django.db import models
from django.db.models import CheckConstraint, Q

from routeradmin.constraints import filled


class IntentFeedback(models.Model):
    """One decision judged: what it was taken for and what it should have been.

    ``turn`` is the recorded turn, if one was named; ``tier`` and ``confidence`` are the
    decision's. ``example_added``: the prompt became an example of the right intent.
    """

    at = models.DateTimeField(db_index=True)
    by = models.CharField(max_length=256)
    turn = models.CharField(max_length=64, blank=True, default="", db_index=True)
    decided = models.CharField(max_length=256)
    right = models.CharField(max_length=256)
    tier = models.CharField(max_length=32, blank=True, default="")
    confidence = models.FloatField(null=True, blank=True)
    example_added = models.BooleanField(default=False)

    class Meta:
        ordering = ("-id",)
        constraints = (
            *filled("intentfeedback", "right"),
            CheckConstraint(
                condition=Q(confidence__isnull=True) | Q(confidence__gte=0, confidence__lte=1),
                name="intentfeedback_confidence_share",
            ),
        )

    def __str__(self) -> str:
        return f"{self.decided} -> {self.right}"
