"""A request to explain: what a caller would ask for."""

from __future__ import annotations

from typing import Any

from django import forms

from routeradmin.console.fields import Text, Words, whole

CAPABILITIES = tuple(
    (word, word) for word in ("tools", "vision", "audio", "embeddings", "json_schema")
)
MOST_DRAWS = 10_000
MOST_DIGITS = 9


class Loads(Words):
    """``deployment/credential=N``, separated by commas; names may hold an equals sign."""

    def clean(self, value: Any) -> dict[str, int]:
        loads = {}
        for word in super().clean(value):
            name, _, count = word.rpartition("=")
            if not name or not count.strip().isdecimal() or len(count) > MOST_DIGITS:
                raise forms.ValidationError(f"Write {word} as deployment/credential=8.")
            loads[name.strip()] = int(count)
        return loads


class ExplainForm(forms.Form):
    """Sent by GET, so that a question can be shared as a link."""

    model = forms.CharField(
        label="Model",
        max_length=1024,
        help_text="A route's alias, provider:model, or auto.",
        widget=forms.TextInput(attrs={"list": "public-names"}),
    )
    input_tokens = whole("Input tokens", "Empty: unknown.")
    max_output_tokens = whole("Most output tokens")
    requires = forms.MultipleChoiceField(
        label="Needs",
        choices=CAPABILITIES,
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )
    tags = Words(label="Tags", required=False)
    session = Text(label="Session", max_length=1024)
    down = Words(
        label="Assume these are down",
        required=False,
        help_text="Candidates as deployment/credential, separated by commas.",
    )
    load = Loads(
        label="Assume this many active requests",
        required=False,
        help_text="Such as deployment/credential=8, separated by commas.",
    )
    draws = whole("Draws", "0 or empty: no simulation.", high=MOST_DRAWS)

    def body(self) -> dict[str, Any]:
        """The question as a select body; only what was given."""
        names = ("model", "input_tokens", "max_output_tokens", "requires", "tags", "session")
        given = {name: self.cleaned_data.get(name) for name in names}
        return {name: value for name, value in given.items() if value or value == 0}

    def overlay(self) -> dict[str, dict[str, Any]]:
        """The state to assume, by candidate."""
        assumed: dict[str, dict[str, Any]] = {}
        for name, active in self.cleaned_data["load"].items():
            assumed.setdefault(name, {})["active"] = active
        for name in self.cleaned_data["down"]:
            assumed.setdefault(name, {})["disabled"] = True
        return assumed
