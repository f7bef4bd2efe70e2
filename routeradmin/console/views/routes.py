"""Routes, drawn as their tiers."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import Any

from routeradmin.console import traffic, wording
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
    state_of,
    tags_of,
)
from routeradmin.console.standing import rows_of
from routeradmin.console.views.rules import when_of
from routeradmin.services import previewing

MEANINGS = {name: text.partition(": ")[2] for name, text in STRATEGIES if name}


def _alias(entry: Entry, index: Index) -> Cell:
    others = [text for text in (entry.name, entry.id) if text and text != entry.alias]
    return Cell(entry.alias, url=link("routes", entry.id).url, sub=others[0] if others else "")


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
    targets = index.targets_of_route.get(entry.id, ())
    tiers = [
        [{"id": one.serving_model_id, "rows": rows_of(one.serving_model_id)} for one in members]
        for _, members in groupby(targets, key=lambda one: int(one.position))
    ]
    policy = index.policies.get(entry.policy_id or index.document.defaults.policy_id or "")
    return {
        **_rules(entry, index),
        "affinity": wording.affinity_words(entry.affinity_ttl_s),
        "tiers": tiers,
        "strategy": strategy_of(entry, index),
        "strategy_meaning": MEANINGS.get(strategy_of(entry, index), "a registered callable"),
        "policy_id": policy.id if policy else "",
        "fallbacks": _fallbacks(policy, index) if policy else [],
        "aliases": [alias.name for alias in index.document.aliases if alias.target == entry.alias],
    }


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


FALLBACKS = (
    ("general", "after any failure"),
    ("context_window", "when the context is too long"),
    ("content_policy", "when a content policy refused"),
    ("rate_limit", "when rate-limited or out of quota"),
)


def _fallbacks(policy: Entry, index: Index) -> list[tuple[str, list[tuple[str, str]]]]:
    """What each list of the policy is for, with its routes' ids and aliases in order."""
    return [
        (meaning, [(uid, index.routes[uid].alias) for uid in listed if uid in index.routes])
        for name, meaning in FALLBACKS
        if (listed := getattr(policy.fallback, name))
    ]


NOUN = Noun(
    slug="routes",
    kind="routes",
    one="route",
    title="Routes",
    meaning="A route is a public model name with a strategy and ordered targets.",
    form=RouteDraft,
    form_template="console/routes/form.html",
    detail_template="console/routes/detail.html",
    preview=previewing.route,
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
