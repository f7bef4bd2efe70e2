"""What a form needs first that is not there yet: the way there, and back to the form."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import urlencode

from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme

from routeradmin.console.drafts import Draft
from routeradmin.console.fields import One
from routeradmin.console.wording import one_of
from routeradmin.services.changes import NOUN_OF_KIND

NEXT, FILL = "next", "fill"


class Errand(NamedTuple):
    """Something to be added first; ``url`` adds it and comes back."""

    one: str
    url: str


def for_form(request: HttpRequest, form: Draft) -> list[Errand]:
    return to_add(request, form.lacking(), {kind: name for name, kind in _asking(form)})


def to_add(
    request: HttpRequest, kinds: Iterable[str], fields: dict[str, str] | None = None
) -> list[Errand]:
    """One errand for each kind; ``fields``: the field that is filled on coming back."""
    return [
        Errand(one_of(kind), f"{reverse(f'{NOUN_OF_KIND[kind]}-new')}?{_way_back(request, field)}")
        for kind in dict.fromkeys(kinds)
        for field in [(fields or {}).get(kind, "")]
    ]


def _asking(form: Draft) -> list[tuple[str, str]]:
    return [(name, one.source.kind) for name, one in form.fields.items() if isinstance(one, One)]


def _way_back(request: HttpRequest, field: str) -> str:
    return urlencode({NEXT: request.get_full_path(), **({FILL: field} if field else {})})


def onward(request: HttpRequest, uid: str, otherwise: str) -> str:
    """Where a new object's form leads: back to the form that needed it, with it filled in."""
    wanted = request.GET.get(NEXT, "")
    if not url_has_allowed_host_and_scheme(wanted, None):
        return otherwise
    field = request.GET.get(FILL, "")
    if not field:
        return wanted
    return f"{wanted}{'&' if '?' in wanted else '?'}{urlencode({field: uid})}"


def filled(request: HttpRequest, form: type[Draft]) -> dict[str, str]:
    """What was added for a form, by the field that asked for it."""
    return {
        name: request.GET[name]
        for name, field in form.base_fields.items()
        if isinstance(field, One) and name in request.GET
    }
