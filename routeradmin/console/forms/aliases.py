"""Aliases: further names of routes."""

from __future__ import annotations

from django import forms

from routeradmin.console import catalog
from routeradmin.console.drafts import Draft


class AliasDraft(Draft):
    fixed = ("name",)
    name = forms.CharField(
        label="Name", max_length=256, help_text="What callers ask for. It cannot be changed later."
    )
    target = forms.CharField(
        label="Stands for",
        max_length=256,
        help_text="A route's alias or another alias's name; chains may be 16 links long.",
        widget=forms.TextInput(attrs={"list": "public-names"}),
    )
    groups = (("Alias", ("name", "target")),)

    def lacking(self) -> list[str]:
        return [] if catalog.document().routes else ["routes"]

    @property
    def datalists(self) -> dict[str, list[str]]:
        document = catalog.document()
        names = [route.alias for route in document.routes]
        return {"public-names": sorted(names + [alias.name for alias in document.aliases])}
