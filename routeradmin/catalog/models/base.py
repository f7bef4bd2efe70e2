"""What the catalog's tables share: the natural id, a display name, tags, the admin state."""

from __future__ import annotations

from django.db import models

from routeradmin.engine.objects import AdminState
from routeradmin.versioned import Versioned

ADMIN_STATES = [(state.value, state.value) for state in AdminState]


def tags_field() -> models.JSONField:
    return models.JSONField(default=list, blank=True)


def admin_state_field() -> models.CharField[str, str]:
    return models.CharField(max_length=16, choices=ADMIN_STATES, default=AdminState.ENABLED.value)


class Declared(Versioned):
    """A declaration of the catalog. ``uid`` is what files and the API call ``id``."""

    uid = models.CharField("id", max_length=256, unique=True)

    class Meta:
        abstract = True
        ordering = ("uid",)

    def __str__(self) -> str:
        return self.uid


class Named(Declared):
    """``name`` is for people; left empty it reads as the id."""

    name = models.CharField(max_length=256, blank=True, default="")

    class Meta(Declared.Meta):
        abstract = True

    @property
    def label(self) -> str:
        return self.name or self.uid
