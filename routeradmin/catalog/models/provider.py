"""A vendor or lab."""

from __future__ import annotations

from django.db import models

from routeradmin.catalog.models.base import Named, admin_state_field, tags_field
from routeradmin.constraints import filled, one_of
from routeradmin.engine.objects import AdminState


class Provider(Named):
    category = models.CharField(max_length=256)
    kind = models.CharField(max_length=256, default="openai-compatible")
    admin_state = admin_state_field()
    tags = tags_field()

    class Meta(Named.Meta):
        constraints = (
            *filled("provider", "uid", "category", "kind"),
            one_of("provider", "admin_state", AdminState),
        )
