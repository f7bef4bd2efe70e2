"""Aliases: one name space with the routes', no loops, at most 16 hops."""

from __future__ import annotations

from collections.abc import Iterator

from routeradmin.catalog.checks.scope import Scope, error
from routeradmin.catalog.problems import Problem, pointer

MAX_HOPS = 16


def aliases(scope: Scope) -> Iterator[Problem]:
    taken = {route.alias: place for place, route in enumerate(scope.document.routes)}
    links = {alias.name: alias.target for alias in scope.document.aliases}
    for index, alias in enumerate(scope.document.aliases):
        if alias.name in taken:
            place = taken[alias.name]
            detail = f"{alias.name} is the alias of route {scope.document.routes[place].id} "
            detail += "already: give one of the two another name"
            yield Problem(
                pointer("aliases", index, "name"),
                detail,
                other=pointer("routes", place, "alias"),
            )
        if "*" in alias.name:
            yield error("aliases", index, "name", detail="holds no *: only a route's alias may")
        if "*" in alias.target:
            yield error("aliases", index, "target", detail="is a pattern: point to an exact name")
        elif alias.target not in links and not scope.is_served(alias.target):
            detail = f"{alias.target} is no route's alias and no alias: declare it or correct it"
            yield error("aliases", index, "target", detail=detail)
    places = {alias.name: index for index, alias in enumerate(scope.document.aliases)}
    yield from _chains({name: end for name, end in links.items() if name not in taken}, places)


def _chains(links: dict[str, str], places: dict[str, int]) -> Iterator[Problem]:
    """Loops, each told once with all its names, and chains that are too long.

    Every link is followed once: what a chain runs into is known from before.
    """
    hops: dict[str, int | None] = {}  # None: ends in a loop
    for start in links:
        path: dict[str, None] = {}
        name = start
        while name in links and name not in hops and name not in path:
            path[name] = None
            name = links[name]
        if name in path:
            names = list(path)
            loop = names[names.index(name) :]
            yield error("aliases", min(places[one] for one in loop), "target", detail=_loop(loop))
            hops.update(dict.fromkeys(path))
            continue
        reached = hops.get(name, 0)
        for one in reversed(path):
            reached = None if reached is None else reached + 1
            hops[one] = reached
    for name, count in hops.items():
        if count is not None and count > MAX_HOPS:
            detail = f"{name} is {count} hops from its route, {MAX_HOPS} are allowed: cut it short"
            yield error("aliases", places[name], "target", detail=detail)


def _loop(names: list[str]) -> str:
    if len(names) == 1:
        return f"{names[0]} is an alias of itself: point it elsewhere"
    return f"aliases form a loop: {' -> '.join([*names, names[0]])}; point one elsewhere"
