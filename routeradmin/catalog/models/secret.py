"""Secrets by reference: stored ones sealed, outside ones by where they are."""

from __future__ import annotations

from django.db import models
from django.db.models import CheckConstraint, Q

from routeradmin.constraints import filled, one_of
from routeradmin.versioned import Versioned


class SecretKind(models.TextChoices):
    STORED = "stored"
    ENV = "env"
    FILE = "file"


class Secret(Versioned):
    """One reference of the catalog: a stored secret's name, ``env:NAME`` or ``file:/path``.

    ``ciphertext`` is a Fernet token, empty while a stored secret was not given yet and always
    for outside ones. ``secret_version`` numbers its value, no two values alike;
    ``fingerprint`` tells two values apart without telling either. ``unused_since``: no
    credential names it any more; it is kept for a while so that a rollback finds it.
    """

    reference = models.CharField(max_length=256, unique=True)
    kind = models.CharField(max_length=8, choices=SecretKind)
    ciphertext = models.TextField(blank=True, default="")
    fingerprint = models.CharField(max_length=32, blank=True, default="")
    secret_version = models.PositiveIntegerField(default=0)
    unused_since = models.DateTimeField(null=True, blank=True)
    changed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("reference",)
        constraints = (
            *filled("secret", "reference"),
            one_of("secret", "kind", SecretKind.values),
            CheckConstraint(
                condition=Q(kind=SecretKind.STORED) | Q(ciphertext=""),
                name="secret_only_stored_ones_hold_a_value",
            ),
            CheckConstraint(
                condition=Q(kind=SecretKind.ENV, reference__startswith="env:")
                | Q(kind=SecretKind.FILE, reference__startswith="file:")
                | (
                    Q(kind=SecretKind.STORED)
                    & ~Q(reference__startswith="env:")
                    & ~Q(reference__startswith="file:")
                ),
                name="secret_kind_fits_its_reference",
            ),
        )

    def __str__(self) -> str:
        return self.reference
