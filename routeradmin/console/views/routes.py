"""Routes, drawn as their tiers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from routeradmin.console import catalog, flow, traffic, wording
from routeradmin.console.catalog import Index
from routeradmin.console.forms.routes import STRATEGIES, RouteDraft
from routeradmin.console.nouns import (
    STATE_CHOICE,
    Cell,
    Choice,
    Column,
    Entry,
    Noun,
    health_of,
    link,
    route_of,
    state_of,
    tags_of,
)
from routeradmin.console.views.rules import when_of
from routeradmin.services import changes, previewing

MEANINGS = {name: text.partition(": ")[2] for name, text in STRATEGIES if name}


def _alias(entry: Entry, index: Index) -> Cell:
    cell = route_of(index, entry.id)
    further = entry.name if entry.name not in (None, entry.alias, entry.id) else ""
    return cell._replace(sub=" · ".join(filter(None, (cell.sub, further))))


def strategy_of(entry: Entry, index: Index) -> str:
    return entry.strategy or index.document.defaults.strategy or "simple_shuffle"


def _tiers(entry: Entry, index: Index) -> int:
    return len({target.position for target in index.targets_of_route.get(entry.id, ())})


def _traffic(entry: Entry, index: Index) -> str:
    """Its share of the turns of the last 15 minutes."""
    share = traffic.shares().get(entry.id)
    return f"{100 * share:.0f} %" if share is not None else "–"


def _policy(entry: Entry, index: Index) -> Cell:
    uid = entry.policy_id or index.document.defaults.policy_id
    return link("policies", uid) if uid else Cell("built-in")


def _more(entry: Entry, index: Index) -> Mapping[str, Any]:
    values = changes.values_of(index.document, "routes", entry.id)
    return {
        **_rules(entry, index),
        "affinity": wording.affinity_words(entry.affinity_ttl_s),
        "flow": flow.of_values(values, index),
        "strategy": strategy_of(entry, index),
        "strategy_meaning": MEANINGS.get(strategy_of(entry, index), "a registered callable"),
    }


def _preview(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the draft would do now, drawn and drawn from."""
    return {**previewing.route(values), "flow": flow.of_values(values, catalog.index())}


def _rules(entry: Entry, index: Index) -> dict[str, Any]:
    """Its rules as they are asked, and the position that a further one would have."""
    mine = [rule for rule in index.document.rules if rule.route_id == entry.id]
    mine.sort(key=lambda rule: (rule.position, rule.id))
    return {
        "rules": [
            {
                "id": rule.id,
                "position": rule.position,
                "when": when_of(rule, index),
                "only": rule.only,
            }
            for rule in mine
        ],
        "next_position": mine[-1].position + 1 if mine else 0,
    }


NOUN = Noun(
    slug="routes",
    kind="routes",
    one="route",
    title="Routes",
    meaning="A route is a public model name with a strategy and ordered targets.",
    form=RouteDraft,
    form_template="console/routes/form.html",
    detail_template="console/routes/detail.html",
    preview=_preview,
    called=lambda entry: str(entry.alias),
    columns=(
        Column("Alias", _alias, "alias"),
        Column("Strategy", strategy_of, "strategy"),
        Column("Tiers", _tiers, "tiers", number=True),
        Column(
            "Targets",
            lambda entry, index: len(index.targets_of_route.get(entry.id, ())),
            "targets",
            number=True,
        ),
        health_of("route"),
        Column("Traffic", _traffic),
        Column("Fallback", lambda entry, index: "on" if entry.fallback_enabled else "off"),
        Column("Policy", _policy),
        Column("Wanted state", state_of, "state"),
        Column("Tags", tags_of),
    ),
    choices=(
        Choice(
            "strategy",
            "Strategy",
            lambda index: [name for name, _ in STRATEGIES if name],
            strategy_of,
        ),
        STATE_CHOICE,
    ),
    facts=(
        Column("Id", lambda entry, index: entry.id),
        Column("When nothing is available", lambda entry, index: entry.when_exhausted),
        Column("Longest wait, seconds", lambda entry, index: float(entry.max_wait_s)),
        Column("Session affinity, seconds", lambda entry, index: float(entry.affinity_ttl_s)),
        Column("Preview deployments", lambda entry, index: ", ".join(entry.preview)),
    ),
    more=_more,
)
