"""Who is affected by a change of the catalog that has not been made yet, worst first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from django.urls import NoReverseMatch, reverse

from routeradmin.access.models import ApiKey
from routeradmin.catalog.diff import Diff, EntryChange
from routeradmin.catalog.document import Document
from routeradmin.console import catalog, traffic
from routeradmin.console.nouns import Cell, further_name, route_of
from routeradmin.console.questions import Affected
from routeradmin.console.standing import rows_of
from routeradmin.console.wording import one_of
from routeradmin.services import changes


def of(found: Diff, after: Document) -> list[Affected]:
    """Routes and the keys that name them, then deployments with what runs, then the rest."""
    gone = {kind: [one.id for one in found.removed if one.kind == kind] for kind in _kinds(found)}
    routes = gone.get("routes", [])
    return [
        *_gone_routes(routes),
        *_keys_naming(routes),
        *_gone_deployments(gone.get("serving_models", [])),
        *_gone_others(gone),
        *_changed_routes(found, after),
        *_changed_others(found),
    ]


def besides(kind: str, uid: str, found: Diff, after: Document) -> list[Affected]:
    """``of`` a deletion, without the object itself where it is a route or the like."""
    removed = tuple(one for one in found.removed if (one.kind, one.id) != (kind, uid))
    if kind in ("routes", "serving_models"):  # who loses by it is to be told all the same
        return of(found, after)
    return of(replace(found, removed=removed), after)


def page_of(noun: str, uid: str) -> str:
    """The address of an object's page; empty where it has none."""
    if noun == "targets":
        noun, uid = "routes", catalog.index().route_of_target.get(uid, "")
    try:
        return reverse(f"{noun}-one", args=[uid])
    except NoReverseMatch:
        return ""


def named_cell(noun: str, uid: str) -> Cell:
    """An object as it is called, with a link where it has a page; a target by its route."""
    index = catalog.index()
    if noun == "targets":
        noun, uid = "routes", index.route_of_target.get(uid, uid)
    if noun == "routes":
        return route_of(index, uid)
    return Cell(uid, url=page_of(noun, uid), sub=_name_of(noun, uid))


def _name_of(noun: str, uid: str) -> str:
    """Its name where that says more than the id; aliases have none beside it."""
    kind = changes.NOUNS.get(noun, noun)
    entries = getattr(catalog.document(), kind, ())
    return next((further_name(one) for one in entries if getattr(one, "id", "") == uid), "")


def _kinds(found: Diff) -> set[str]:
    return {one.kind for one in found.removed}


def _page(kind: str, uid: str) -> str:
    return page_of(changes.NOUN_OF_KIND.get(kind, kind), uid)


def _gone_routes(routes: Iterable[str]) -> Iterator[Affected]:
    index, shares = catalog.index(), traffic.shares()
    for uid in routes:
        route = index.routes[uid]
        share = shares.get(uid)
        what = "goes: requests for it are refused"
        sub = f"{share:.0%} of the last 15 minutes' turns" if share else ""
        yield Affected("route", route.alias, what, page_of("routes", uid), sub)


def _keys_naming(routes: Iterable[str]) -> Iterator[Affected]:
    """Keys that were held to routes of which some go."""
    gone = set(routes)
    held = ApiKey.objects.filter(routes__isnull=False, revoked_at=None) if gone else ()
    for key in held:
        may_use = set(key.routes or ())
        lost = may_use & gone
        if lost:
            what = f"loses {len(lost)} of its {len(may_use)} routes"
            url = reverse("keys-edit", args=[key.uid])
            yield Affected("API key", key.name, what, url, ", ".join(sorted(lost)))


def _gone_deployments(deployments: Iterable[str]) -> Iterator[Affected]:
    for uid in deployments:
        active = sum(row["active"] for row in rows_of(uid))
        sub = f"{active} request{'' if active == 1 else 's'} running" if active else ""
        yield Affected("deployment", uid, "goes", page_of("deployments", uid), sub)


def _gone_others(gone: dict[str, list[str]]) -> Iterator[Affected]:
    for kind, uids in gone.items():
        if kind not in ("routes", "serving_models", "targets"):
            for uid in uids:
                yield Affected(one_of(kind), uid, "goes", _page(kind, uid))


def _changed_routes(found: Diff, after: Document) -> Iterator[Affected]:
    """Routes that stay and choose otherwise: their own settings, or their targets."""
    stays = {route.id: route.alias for route in after.routes}
    index = catalog.index()
    known = {one.id: one.route_id for one in after.targets} | dict(index.route_of_target)
    fields: dict[str, set[str]] = {}
    for one in (*found.added, *found.removed, *found.changed):
        if one.kind == "targets":
            fields.setdefault(known[one.id], set()).add("targets")
        elif one.kind == "routes" and one.fields:
            fields.setdefault(one.id, set()).update(change.field for change in one.fields)
    for uid, names in fields.items():
        if uid in stays and uid in index.routes:
            what = f"changes: {', '.join(sorted(names))}"
            yield Affected("route", stays[uid], what, page_of("routes", uid))


def _changed_others(found: Diff) -> Iterator[Affected]:
    for one in found.changed:
        if one.kind not in ("routes", "targets"):
            yield Affected(one_of(one.kind), one.id, _fields(one), _page(one.kind, one.id))


def _fields(one: EntryChange) -> str:
    return f"changes: {', '.join(change.field for change in one.fields)}"
