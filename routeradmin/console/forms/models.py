"""Upstream models."""

from __future__ import annotations

from django import forms

from routeradmin.console.drafts import Draft
from routeradmin.console.fields import Text
from routeradmin.console.forms.providers import ID_HELP


class ModelDraft(Draft):
    id = forms.CharField(label="Id", max_length=256, help_text=ID_HELP)
    upstream_name = forms.CharField(
        label="Upstream name",
        max_length=256,
        help_text="What the provider calls it. One * takes what a route's pattern matched.",
    )
    name = Text(label="Name", max_length=256)
    groups = (("Model", ("id", "upstream_name", "name")),)
