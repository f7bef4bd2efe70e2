"""Route rules and intents."""

from __future__ import annotations

from routeradmin.console.catalog import Index
from routeradmin.console.forms.rules import IntentDraft, RuleDraft
from routeradmin.console.nouns import (
    Cell,
    Choice,
    Column,
    Entry,
    Noun,
    link,
    named,
    route_of,
    routes_by_alias,
)


def _route(entry: Entry, index: Index) -> Cell:
    return route_of(index, entry.route_id)


def _id(entry: Entry, index: Index) -> Cell:
    return link("rules", entry.id)


def when_of(entry: Entry, index: Index) -> str:
    stated = entry.when.model_dump(exclude_defaults=True)
    return "; ".join(f"{name.replace('_', ' ')} {_shown(value)}" for name, value in stated.items())


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}: {text}" for name, text in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(str(one) for one in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _only(entry: Entry, index: Index) -> Cell:
    return Cell("" if entry.only else "–", tags=entry.only)


ROUTE_CHOICE = Choice(
    "route",
    "Route",
    routes_by_alias,
    lambda entry, index: entry.route_id,
)
RULES = Noun(
    slug="rules",
    kind="rules",
    one="rule",
    title="Rules",
    meaning="A rule narrows a route to some of its deployments for requests that fit it, by tag, "
    "key, header, hour or size.",
    form=RuleDraft,
    filled=("route_id", "position"),
    columns=(
        Column("Rule", _id, "id"),
        Column("Route", _route, "route"),
        Column("Position", lambda entry, index: entry.position, "position", number=True),
        Column("Where", when_of),
        Column("Only", _only),
    ),
    choices=(ROUTE_CHOICE,),
)
INTENTS = Noun(
    slug="intents",
    kind="intents",
    one="intent",
    title="Intents",
    meaning="An intent is something that “auto” may mean, and the route that serves it.",
    form=IntentDraft,
    list_links="console/intents/_links.html",
    columns=(
        Column("Intent", named("intents"), "id"),
        Column("Route", _route, "route"),
        Column("Description", lambda entry, index: entry.description[:160]),
        Column("Local only", lambda entry, index: "yes" if entry.local_only else "no"),
    ),
    choices=(ROUTE_CHOICE,),
    facts=(
        Column("Examples", lambda entry, index: " · ".join(entry.examples)),
        Column("Keywords", lambda entry, index: ", ".join(entry.keywords)),
    ),
)
