"""Public model names with a strategy, and their targets in tiers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

from pydantic import Field

from routeradmin.api.crud import router_of
from routeradmin.api.nouns import Item, Noun
from routeradmin.catalog.document import Document, Route, Target
from routeradmin.catalog.fields import Ident, Position
from routeradmin.catalog.table import Table
from routeradmin.services.changes.nouns import full_form


class RouteTarget(Table):
    """A deployment at a position; targets that share one form a tier. An id is made if absent."""

    id: Ident | None = None
    serving_model_id: Ident
    position: Position


class RouteBody(Route):
    """A route with its targets; in a PATCH the list replaces the whole."""

    targets: Annotated[tuple[RouteTarget, ...], Field(strict=False)] = ()


def items(document: Document, entries: Sequence[Any]) -> Iterable[Item]:
    grouped: dict[str, list[Target]] = defaultdict(list)
    for target in sorted(document.targets, key=lambda one: (one.position, one.id)):
        grouped[target.route_id].append(target)
    for entry in entries:
        targets = [
            {name: getattr(target, name) for name in RouteTarget.model_fields}
            for target in grouped[entry.id]
        ]
        yield full_form(entry) | {"targets": targets}


ROUTES = Noun("routes", "route", RouteBody, items=items)
router = router_of(ROUTES)
