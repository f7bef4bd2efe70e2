"""The six operations that every noun of the catalog has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Router

from routeradmin.api import listing, objects
from routeradmin.api.access import reading, writing
from routeradmin.api.bodies import Page, partial
from routeradmin.api.nouns import Noun

Operation = Callable[..., HttpResponse]


def router_of(noun: Noun, router: Router | None = None) -> Router:
    """A router with list, create, get, replace, update and delete of ``noun``.

    ``router`` may hold operations already: they are matched first, as an id takes the whole rest
    of its path.
    """
    router = router or Router(tags=[noun.plural], by_alias=True)
    page: Any = Page[noun.shown]  # type: ignore[name-defined]
    router.get(
        "",
        response=page,
        auth=reading,
        operation_id=f"list_{noun.plural}",
        summary=f"List {noun.plural}",
        openapi_extra={"parameters": listing.documented(noun.fields, noun.key)},
    )(_lister(noun))
    router.post(
        "",
        response={201: noun.shown},
        auth=writing,
        operation_id=f"create_{noun.singular}",
        summary=f"Create a {noun.singular}",
    )(_creator(noun))
    _one(router.get, noun, "get", reading)(_getter(noun))
    _one(router.put, noun, "replace", writing)(_replacer(noun))
    _one(router.patch, noun, "update", writing)(_updater(noun))
    router.delete(
        "/{path:id}",
        response={204: None},
        auth=writing,
        operation_id=f"delete_{noun.singular}",
        summary=f"Delete a {noun.singular}",
    )(_deleter(noun))
    return router


def _one(method: Any, noun: Noun, verb: str, auth: Any) -> Callable[[Operation], Operation]:
    decorate: Callable[[Operation], Operation] = method(
        "/{path:id}",
        response=noun.shown,
        auth=auth,
        operation_id=f"{verb}_{noun.singular}",
        summary=f"{verb.capitalize()} a {noun.singular}",
    )
    return decorate


# ninja reads what a body must hold from the annotation: the noun's own table is put there.


def _lister(noun: Noun) -> Operation:
    def lister(request: HttpRequest) -> HttpResponse:
        return objects.listed(request, noun)

    return lister


def _creator(noun: Noun) -> Operation:
    def creator(request: HttpRequest, body: Any) -> HttpResponse:
        return objects.created(request, noun, body)

    creator.__annotations__["body"] = noun.created or noun.written
    return creator


def _getter(noun: Noun) -> Operation:
    def getter(request: HttpRequest, id: str) -> HttpResponse:
        return objects.shown(request, noun, id)

    return getter


def _replacer(noun: Noun) -> Operation:
    def replacer(request: HttpRequest, id: str, body: Any) -> HttpResponse:
        return objects.replaced(request, noun, id, body)

    replacer.__annotations__["body"] = noun.written
    return replacer


def _updater(noun: Noun) -> Operation:
    def updater(request: HttpRequest, id: str, body: Any) -> HttpResponse:
        return objects.updated(request, noun, id, body)

    updater.__annotations__["body"] = partial(noun.written)
    return updater


def _deleter(noun: Noun) -> Operation:
    def deleter(request: HttpRequest, id: str, cascade: bool = False) -> HttpResponse:
        return objects.deleted(request, noun, id, cascade=cascade)

    return deleter
