"""The API's nouns and the document's lists; one object as the API writes it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from routeradmin.catalog.canonical import plain
from routeradmin.catalog.document import Defaults, Document, key_of
from routeradmin.catalog.files.structure import build
from routeradmin.catalog.problems import Invalid, Problem, pointer
from routeradmin.catalog.table import Table
from routeradmin.services.changes.errors import NotFound

NOUNS = {
    "providers": "providers",
    "credentials": "accounts",
    "endpoints": "endpoints",
    "models": "models",
    "deployments": "serving_models",
    "routes": "routes",
    "targets": "targets",
    "aliases": "aliases",
    "policies": "policies",
    "rules": "rules",
    "intents": "intents",
}
NOUN_OF_KIND = {kind: noun for noun, kind in NOUNS.items()}
OF_THEIR_OWN = ("catalog", "cooldowns", "keys", "users", "webhooks", "secrets")
EDITABLE = tuple(noun for noun in NOUNS if noun != "targets")

AUDITED = (*EDITABLE, *OF_THEIR_OWN)  # every kind of object that an audit entry is about


def key_field(noun: str) -> str:
    """An alias is known by its name, all else by its id."""
    return "name" if noun == "aliases" else "id"


def find(document: Document, noun: str, id: str) -> Table:
    """Raises NotFound."""
    for entry in getattr(document, NOUNS[noun]):
        if key_of(entry) == id:
            found: Table = entry
            return found
    raise NotFound(noun, id)


def values_of(document: Document, noun: str, id: str) -> dict[str, Any]:
    """The object with every field, defaults included; a route nests its targets."""
    entry = find(document, noun, id)
    values = full_form(entry)
    if noun == "routes":
        values["targets"] = [
            {name: getattr(target, name) for name in ("id", "serving_model_id", "position")}
            for target in sorted(document.targets, key=lambda one: (one.position, one.id))
            if target.route_id == id
        ]
    return values


def full_form(table: Table) -> dict[str, Any]:
    """A table's fields as JSON, defaults included."""
    values: dict[str, Any] = {}
    for name, info in type(table).model_fields.items():
        value = getattr(table, name)
        values[info.alias or name] = _full(value)
    return values


def _full(value: Any) -> Any:
    if isinstance(value, Table):
        return full_form(value)
    if isinstance(value, tuple):
        return [_full(member) for member in value]
    return plain(value)


def stated(table: Table) -> dict[str, Any]:
    """What the table states, as plain values: the base that a patch is laid over."""
    values = table.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return {name: value for name, value in values.items() if value is not None}


def patched(values: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """``patch`` laid over ``values``: tables merge, null takes a field back to its default."""
    result = dict(values)
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        elif isinstance(value, dict) and isinstance(result.get(name), dict):
            result[name] = patched(result[name], value)
        else:
            result[name] = value
    return result


def parsed(noun: str, values: Any) -> Table:
    """One table from plain values. Raises Invalid with pointers below the object."""
    if not isinstance(values, dict):
        raise Invalid([Problem("", "must be an object")])
    kind = NOUNS[noun]
    document, problems = build({kind: [values]})
    if document is None:
        raise Invalid(_below(problem, pointer(kind, 0)) for problem in problems)
    entry: Table = getattr(document, kind)[0]
    return entry


def parsed_defaults(values: dict[str, Any]) -> Defaults:
    """Raises Invalid with pointers below the table."""
    document, problems = build({"defaults": values})
    if document is None:
        raise Invalid(_below(problem, "/defaults") for problem in problems)
    return document.defaults


def parsed_targets(route_id: str, values: Any) -> list[Any]:
    """A route's targets from ``[{id, serving_model_id, position}]``; ids are made where absent.

    Raises Invalid with pointers below the route.
    """
    if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
        raise Invalid([Problem("/targets", "must be a list of targets")])
    taken = {value.get("id") for value in values}
    tables = []
    for value in values:
        if value.get("route_id", route_id) != route_id:
            raise Invalid([Problem("/targets", "route_id is the route's own: leave it out")])
        tables.append({"id": _free_id(route_id, taken), **value, "route_id": route_id})
        taken.add(tables[-1]["id"])
    document, problems = build({"targets": tables})
    if document is None:
        raise Invalid(problems)
    return list(document.targets)


def _free_id(route_id: str, taken: set[Any]) -> str:
    number = 1
    while f"{route_id}-{number}" in taken:
        number += 1
    return f"{route_id}-{number}"


def _below(problem: Problem, prefix: str) -> Problem:
    return Problem(problem.pointer.removeprefix(prefix), problem.detail, problem.severity)


def relocated(invalid: Invalid, document: Document, noun: str, id: str) -> Invalid:
    """A document's problems with pointers below the one object that was edited, where they are
    about it or a route's targets."""
    found = below(invalid.problems, document, noun, id)
    told = [own or problem for own, problem in zip(found, invalid.problems, strict=True)]
    return Invalid(told, invalid.code)


def below(found: Iterable[Problem], document: Document, noun: str, id: str) -> list[Problem | None]:
    """Each problem told below the object; None for one that is about something else."""
    kind = NOUNS[noun]
    keys = [key_of(entry) for entry in getattr(document, kind)]
    prefixes = {pointer(kind, keys.index(id)): ""} if id in keys else {}
    if noun == "routes":
        own = (index for index, one in enumerate(document.targets) if one.route_id == id)
        prefixes |= {
            pointer("targets", place): pointer("targets", index) for index, place in enumerate(own)
        }
    return [_moved(problem, prefixes) for problem in found]


def _moved(problem: Problem, prefixes: dict[str, str]) -> Problem | None:
    for told in filter(None, (problem.pointer, problem.other)):
        for prefix, instead in prefixes.items():
            if told == prefix or told.startswith(prefix + "/"):
                place = instead + told.removeprefix(prefix)
                return Problem(place, problem.detail, problem.severity)
    return None


def replaced(document: Document, kind: str, entries: list[Any]) -> Document:
    """The document with these entries put in place of those of the same key, or added."""
    by_key = {key_of(entry): entry for entry in entries}
    kept = [by_key.pop(key_of(entry), entry) for entry in getattr(document, kind)]
    return document.model_copy(update={kind: (*kept, *by_key.values())})


def removed(document: Document, kind: str, keys: set[str]) -> Document:
    kept = tuple(entry for entry in getattr(document, kind) if key_of(entry) not in keys)
    return document.model_copy(update={kind: kept})
