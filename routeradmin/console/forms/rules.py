"""Rules and intents: conditions on requests, and what ``auto`` may mean."""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms

from routeradmin.console import catalog
from routeradmin.console.drafts import Draft, Groups
from routeradmin.console.fields import (
    SEPARATED,
    Headers,
    Lines,
    Maybe,
    One,
    Several,
    Text,
    Words,
    whole,
)
from routeradmin.console.forms.providers import ID_HELP


class RuleDraft(Draft):
    id = forms.CharField(label="Id", max_length=256, help_text=ID_HELP)
    route_id = One(catalog.Choices("routes", "alias"), label="Route")
    position = whole("Position", "Rules are read in this order; 0 when left empty.")
    when__tags = Words(label="Tags", required=False, help_text="The request carries all of them.")
    when__key = Words(label="API keys", required=False, help_text="Ids, separated by commas.")
    when__header = Headers(label="Headers", required=False, help_text="“Name: value”, one a line.")
    when__hours = Words(
        label="Hours, UTC", required=False, help_text="Such as 08:00-18:00, separated by commas."
    )
    when__min_input_tokens = whole("Input tokens from")
    when__max_input_tokens = whole("Input tokens up to")
    when__tools = Maybe(label="Asks for tools")
    only = Several(
        catalog.Choices("serving_models"),
        label="Only these deployments",
        help_text="What may be used where every condition above holds.",
    )
    groups: ClassVar[Groups] = (
        ("Rule", ("id", "route_id", "position")),
        (
            "Where all of this holds",
            (
                "when__tags",
                "when__key",
                "when__hours",
                "when__min_input_tokens",
                "when__max_input_tokens",
                "when__tools",
                "when__header",
            ),
        ),
        ("Then", ("only",)),
    )

    def typed(self) -> dict[str, Any]:
        """A list with nothing in it is no condition."""
        values = super().typed()
        for name in ("when__tags", "when__key", "when__hours", "when__header"):
            values[name] = values.get(name) or None
        return values


class IntentDraft(Draft):
    id = forms.CharField(label="Id", max_length=256, help_text=ID_HELP)
    name = Text(label="Name", max_length=256)
    route_id = One(catalog.Choices("routes", "alias"), label="Route that serves it")
    description = forms.CharField(
        label="Description",
        required=False,
        max_length=4096,
        widget=forms.Textarea(attrs={"rows": 3}),
    )
    examples = Lines(label="Examples", required=False, help_text="Requests like this, one a line.")
    keywords = Words(label="Keywords", required=False, help_text=SEPARATED)
    local_only = forms.BooleanField(
        label="Local only",
        required=False,
        help_text="Such requests never leave for a provider that is not self-hosted.",
    )
    groups: ClassVar[Groups] = (
        ("Intent", ("id", "name", "route_id", "local_only")),
        ("How it is recognised", ("description", "examples", "keywords")),
    )
