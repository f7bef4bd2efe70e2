"""Providers."""

from __future__ import annotations

from routeradmin.console.catalog import Index
from routeradmin.console.forms.providers import ProviderDraft
from routeradmin.console.nouns import (
    STATE_CHOICE,
    Choice,
    Column,
    Entry,
    Noun,
    health_of,
    named,
    state_of,
    tags_of,
)


def _credentials(entry: Entry, index: Index) -> int:
    return sum(account.provider_id == entry.id for account in index.document.accounts)


def _deployments(entry: Entry, index: Index) -> int:
    return sum(
        index.provider_of(deployment) == entry.id for deployment in index.document.serving_models
    )


def _kinds(index: Index) -> list[str]:
    return sorted({provider.kind for provider in index.document.providers})


NOUN = Noun(
    slug="providers",
    kind="providers",
    one="provider",
    title="Providers",
    meaning="A provider is a vendor or lab, such as openai, or your own GPU machines.",
    form=ProviderDraft,
    columns=(
        Column("Provider", named("providers"), "id"),
        Column("Kind", lambda entry, index: entry.kind, "kind"),
        Column("Category", lambda entry, index: entry.category, "category"),
        health_of("provider"),
        Column("Wanted state", state_of, "state"),
        Column("Credentials", _credentials, "credentials", number=True),
        Column("Deployments", _deployments, "deployments", number=True),
        Column("Tags", tags_of),
    ),
    choices=(Choice("kind", "Kind", _kinds, lambda entry, index: entry.kind), STATE_CHOICE),
)
