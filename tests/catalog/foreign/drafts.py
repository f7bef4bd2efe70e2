"""Reads the fixtures of other programs' files, and shortens what the tests ask."""

from __future__ import annotations

from routeradmin.catalog import validate
from routeradmin.catalog.files import foreign
from routeradmin.catalog.files.draft import Draft
from routeradmin.catalog.problems import Severity
from tests.catalog.documents import FIXTURES


def fixture_bytes(name: str) -> bytes:
    return (FIXTURES / "foreign" / name).read_bytes()


def draft_of(name: str) -> Draft:
    draft = foreign.read(fixture_bytes(name))
    errors = [one for one in validate.problems(draft.document) if one.severity is Severity.ERROR]
    assert errors == []
    return draft


def tiers(draft: Draft) -> dict[str, list[tuple[int, str]]]:
    """(position, deployment id) by route alias, in the order of the target ids."""
    document = draft.document
    found: dict[str, list[tuple[int, str]]] = {}
    for route in document.routes:
        targets = sorted((one for one in document.targets if one.route_id == route.id), key=by_id)
        found[route.alias] = [(one.position, one.serving_model_id) for one in targets]
    return found


def by_id(entry: object) -> str:
    return str(getattr(entry, "id", ""))


def places(remarks: tuple[object, ...]) -> set[str]:
    return {str(getattr(one, "place", "")) for one in remarks}
