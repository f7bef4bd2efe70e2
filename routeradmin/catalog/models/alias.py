"""Names: another name for a route or alias, and the one name space both share."""

from __future__ import annotations

import unicodedata

from django.db import models
from django.db.models import CheckConstraint, Q

from routeradmin.catalog.models.route import Route
from routeradmin.constraints import filled
from routeradmin.versioned import Versioned


def folded(name: str) -> str:
    """The form in which names are compared: NFC, trimmed."""
    return unicodedata.normalize("NFC", name).strip()


class Alias(Versioned):
    """``target`` is the text as written; ``target_name`` the name it means, which must exist."""

    name = models.CharField(max_length=256, unique=True)
    target = models.CharField(max_length=256)
    target_name = models.ForeignKey("PublicName", models.PROTECT, related_name="aliases")

    class Meta:
        ordering = ("name",)
        verbose_name_plural = "aliases"
        constraints = (
            *filled("alias", "name", "target"),
            CheckConstraint(condition=~Q(name=models.F("target")), name="alias_not_of_itself"),
        )

    def __str__(self) -> str:
        return self.name

    @property
    def uid(self) -> str:
        """An alias's name is its id."""
        return self.name


class PublicName(models.Model):
    """One entry of the name space of route aliases and alias names, with its single owner."""

    folded = models.CharField(max_length=256, unique=True)
    route = models.OneToOneField(
        Route, models.CASCADE, related_name="public_name", null=True, blank=True
    )
    alias = models.OneToOneField(
        Alias, models.CASCADE, related_name="public_name", null=True, blank=True
    )

    class Meta:
        ordering = ("folded",)
        constraints = (
            *filled("publicname", "folded"),
            CheckConstraint(
                condition=Q(route__isnull=True, alias__isnull=False)
                | Q(route__isnull=False, alias__isnull=True),
                name="publicname_has_one_owner",
            ),
        )

    def __str__(self) -> str:
        return self.folded
