"""Providers, models and aliases: the small forms."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from django import forms

from routeradmin.console.drafts import Draft
from routeradmin.console.fields import SEPARATED, Text, Words

ADMIN_STATES = (("enabled", "enabled"), ("draining", "draining"), ("disabled", "disabled"))
KINDS = (
    ("openai-compatible", "openai-compatible"),
    ("anthropic", "anthropic"),
    ("ollama", "ollama"),
)
ID_HELP = "Printable ASCII without spaces. It cannot be changed later."


def offer(form: forms.Form, name: str, choices: Iterable[tuple[str, str]]) -> None:
    """Replace what a choice field of this one form offers."""
    cast(forms.ChoiceField, form.fields[name]).choices = list(choices)


def admin_state() -> forms.ChoiceField:
    return forms.ChoiceField(
        label="Wanted state",
        choices=ADMIN_STATES,
        initial="enabled",
        help_text="Draining lets running requests end and takes no new ones.",
    )


def tags() -> Words:
    return Words(label="Tags", required=False, help_text=SEPARATED)


class ProviderDraft(Draft):
    id = forms.CharField(label="Id", max_length=256, help_text=ID_HELP)
    name = Text(label="Name", max_length=256, help_text="For people; the id when left empty.")
    category = forms.CharField(
        label="Category",
        max_length=256,
        help_text="commercial, lab, self-hosted, aggregator, or a word of your own.",
    )
    kind = forms.ChoiceField(label="Kind", choices=KINDS, initial="openai-compatible")
    admin_state = admin_state()
    tags = tags()
    groups = (("Provider", ("id", "name", "category", "kind", "admin_state", "tags")),)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # A file may name a kind that this form does not list; saving must not lose it.
        present = self.initial.get("kind") or self.data.get("kind")
        if present and present not in dict(KINDS):
            offer(self, "kind", [*KINDS, (present, present)])
