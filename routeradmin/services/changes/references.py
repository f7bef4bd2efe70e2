"""Who names whom in a document, and what goes along when something is deleted with cascade."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from routeradmin.catalog.canonical import by_key
from routeradmin.catalog.document import Document, key_of
from routeradmin.services.changes.errors import Dependent
from routeradmin.services.changes.nouns import NOUN_OF_KIND, NOUNS, removed

# (list, field) -> the list it names entries of. Entries of OWNED go with what they belong to.
SINGLE = {
    ("accounts", "provider_id"): "providers",
    ("endpoints", "account_id"): "accounts",
    ("serving_models", "endpoint_id"): "endpoints",
    ("serving_models", "model_id"): "models",
    ("targets", "serving_model_id"): "serving_models",
    ("targets", "route_id"): "routes",
    ("rules", "route_id"): "routes",
    ("intents", "route_id"): "routes",
    ("routes", "policy_id"): "policies",
}
LISTS = {
    ("serving_models", "account_ids"): "accounts",
    ("routes", "preview"): "serving_models",
    ("rules", "only"): "serving_models",
}
FALLBACK = ("general", "context_window", "content_policy", "rate_limit")
OWNED = frozenset({("targets", "routes"), ("rules", "routes")})


def dependents(document: Document, noun: str, id: str) -> list[Dependent]:
    """Everything that names the object and would be left naming nothing."""
    kind = NOUNS[noun]
    found = [
        Dependent(NOUN_OF_KIND[owner], key_of(entry), field)
        for (owner, field), named in (SINGLE | LISTS).items()
        if named == kind and (owner, kind) not in OWNED
        for entry in getattr(document, owner)
        if _names(getattr(entry, field), id)
    ]
    if kind == "routes":
        found += _by_fallback(document, id)
    if kind == "policies" and document.defaults.policy_id == id:
        found.append(Dependent("defaults", "defaults", "policy_id"))
    if kind in ("routes", "aliases"):
        found += _by_name(document, _public_name(document, noun, id))
    return found


def _names(value: Any, id: str) -> bool:
    return id in value if isinstance(value, tuple) else value == id


def _by_fallback(document: Document, id: str) -> Iterator[Dependent]:
    for policy in document.policies:
        for name in FALLBACK:
            if id in (getattr(policy.fallback, name) or ()):
                yield Dependent("policies", policy.id, f"fallback.{name}")


def _by_name(document: Document, name: str) -> Iterator[Dependent]:
    for alias in document.aliases:
        if alias.target == name:
            yield Dependent("aliases", alias.name, "target")
    if name in document.defaults.auto_priority:
        yield Dependent("defaults", "defaults", "auto_priority")


def _public_name(document: Document, noun: str, id: str) -> str:
    if noun == "aliases":
        return id
    return next(route.alias for route in document.routes if route.id == id)


def without(document: Document, noun: str, id: str) -> Document:
    """The document without the object, what it owns, and what cannot be without it.

    Lists that name it lose the entry; a policy that goes leaves its routes the default. A route
    that loses its last target goes too.
    """
    routed = {target.route_id for target in document.targets}
    gone: dict[str, set[str]] = {kind: set() for kind in NOUN_OF_KIND}
    gone[NOUNS[noun]].add(id)
    while True:
        left = _swept(document, gone)
        further = _orphans(left, document, routed)
        if not further:
            return _closed_up(left)
        for kind, key in further:
            gone[kind].add(key)


def _closed_up(document: Document) -> Document:
    """Every route's tiers counted from 0 without a gap: a whole tier may have gone."""
    tiers: defaultdict[str, set[int]] = defaultdict(set)
    for target in document.targets:
        tiers[target.route_id].add(target.position)
    places = {
        route_id: {position: place for place, position in enumerate(sorted(found))}
        for route_id, found in tiers.items()
    }
    targets = tuple(
        target
        if (place := places[target.route_id][target.position]) == target.position
        else target.model_copy(update={"position": place})
        for target in document.targets
    )
    return document.model_copy(update={"targets": targets})


def _swept(document: Document, gone: dict[str, set[str]]) -> Document:
    for kind, keys in gone.items():
        if keys:
            document = removed(document, kind, keys)
    document = _with_shorter_lists(document, gone)
    routes = tuple(
        route.model_copy(update={"policy_id": None})
        if route.policy_id in gone["policies"]
        else route
        for route in document.routes
    )
    return document.model_copy(update={"routes": routes})


def _with_shorter_lists(document: Document, gone: dict[str, set[str]]) -> Document:
    for (owner, field), named in LISTS.items():
        if gone[named]:
            entries = tuple(
                _without_members(entry, field, gone[named]) for entry in getattr(document, owner)
            )
            document = document.model_copy(update={owner: entries})
    policies = tuple(
        policy.model_copy(update={"fallback": _shortened_fallback(policy.fallback, gone["routes"])})
        for policy in document.policies
    )
    names = {alias.name for alias in document.aliases} | {one.alias for one in document.routes}
    defaults = document.defaults
    kept = tuple(one for one in defaults.auto_priority if one in names or ":" in one)
    policy_id = None if defaults.policy_id in gone["policies"] else defaults.policy_id
    defaults = defaults.model_copy(update={"auto_priority": kept, "policy_id": policy_id})
    return document.model_copy(update={"policies": policies, "defaults": defaults})


def _without_members(entry: Any, field: str, gone: set[str]) -> Any:
    members = getattr(entry, field)
    kept = tuple(member for member in members if member not in gone)
    return entry if kept == members else entry.model_copy(update={field: kept})


def _shortened_fallback(fallback: Any, gone: set[str]) -> Any:
    for name in FALLBACK:
        if getattr(fallback, name) is not None:
            fallback = _without_members(fallback, name, gone)
    return fallback


def _orphans(left: Document, before: Document, routed: set[str]) -> list[tuple[str, str]]:
    """Entries of ``left`` that name what is not there, or lost all of what they listed."""
    known = {kind: {key_of(entry) for entry in getattr(left, kind)} for kind in NOUN_OF_KIND}
    found = [
        (owner, key_of(entry))
        for (owner, field), named in SINGLE.items()
        for entry in getattr(left, owner)
        if getattr(entry, field) is not None and getattr(entry, field) not in known[named]
    ]
    targeted = {target.route_id for target in left.targets}
    found += [
        ("routes", route.id)
        for route in left.routes
        if route.id in routed and route.id not in targeted
    ]
    names = known["aliases"] | {route.alias for route in left.routes}
    found += [("aliases", alias.name) for alias in left.aliases if alias.target not in names]
    return found + _emptied(left, before)


def _emptied(left: Document, before: Document) -> list[tuple[str, str]]:
    """A deployment without any of its own credentials, or a rule without what it allowed, would
    mean something else than before: it goes."""
    stated = by_key(before.serving_models)
    found = [
        ("serving_models", one.id)
        for one in left.serving_models
        if not one.account_ids and stated[one.id].account_ids
    ]
    rules = by_key(before.rules)
    return found + [("rules", one.id) for one in left.rules if not one.only and rules[one.id].only]
