"""Upstream models."""

from __future__ import annotations

from routeradmin.console.catalog import Index
from routeradmin.console.forms.models import ModelDraft
from routeradmin.console.nouns import Column, Entry, Noun, named


def _deployments(entry: Entry, index: Index) -> int:
    return sum(one.model_id == entry.id for one in index.document.serving_models)


NOUN = Noun(
    slug="models",
    kind="models",
    one="model",
    title="Models",
    meaning="A model is an upstream model name with an id of its own.",
    form=ModelDraft,
    columns=(
        Column("Model", named("models"), "id"),
        Column("Upstream name", lambda entry, index: entry.upstream_name, "upstream"),
        Column("Deployments", _deployments, "deployments", number=True),
    ),
)
