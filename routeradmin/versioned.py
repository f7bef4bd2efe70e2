"""What every row that people edit carries: a version for ETags, and two dates."""

from __future__ import annotations

from django.db import models
from django.utils import timezone


class Versioned(models.Model):
    """``version`` grows by one with every change; an edit based on an older one is refused."""

    version = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(default=timezone.now)

    class Meta:
        abstract = True

    @property
    def etag(self) -> str:
        """The strong ETag of this version, quotes included."""
        return f'"{self.version}"'
