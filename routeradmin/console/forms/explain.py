"""A request to explain: what a caller would ask for."""

from __future__ import annotations

from typing import Any

from django import forms
from django.http import QueryDict

from routeradmin.console.fields import Text, Words, whole

CAPABILITIES = tuple(
    (word, word) for word in ("tools", "vision", "audio", "embeddings", "json_schema")
)
MOST_DRAWS = 10_000
MOST_LOAD = 1_000_000
LOAD = "load:"  # in front of the candidate, in the URL


class ExplainForm(forms.Form):
    """Sent by GET, so that a question can be shared as a link."""

    model = forms.CharField(
        label="Model",
        max_length=1024,
        help_text="A route's alias, provider:model, or auto.",
        widget=forms.TextInput(attrs={"list": "public-names"}),
    )
    input_tokens = whole("Input tokens", "Empty: unknown.")
    max_output_tokens = whole("Most output tokens", low=1)
    requires = forms.MultipleChoiceField(
        label="Needs",
        choices=CAPABILITIES,
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )
    tags = Words(label="Tags", required=False)
    session = Text(label="Session", max_length=1024)
    draws = whole("Draws", "0 or empty: no simulation.", high=MOST_DRAWS)

    def down(self) -> list[str]:
        """Candidates, as deployment/credential, that are assumed to be down."""
        given = self.data.getlist("down") if isinstance(self.data, QueryDict) else []
        return list(
            dict.fromkeys(
                name for text in given for part in text.split(",") if (name := part.strip())
            )
        )

    def load(self) -> dict[str, int]:
        """Candidate -> active requests assumed beside those that are there."""
        given = {
            name.removeprefix(LOAD): self.data[name] for name in self.data if name.startswith(LOAD)
        }
        return {
            name: min(int(text), MOST_LOAD)
            for name, text in given.items()
            if text.isascii() and text.isdigit() and int(text)
        }

    def body(self) -> dict[str, Any]:
        """The question as a select body; only what was given."""
        names = ("model", "input_tokens", "max_output_tokens", "requires", "tags", "session")
        return {name: self.cleaned_data[name] for name in names if self.cleaned_data.get(name)}
