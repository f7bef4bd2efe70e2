"""Views that a person saved: names for addresses. The address stays the truth of every page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import parse_qsl, urlencode

from django.db import transaction
from django.http import HttpRequest
from django.urls import reverse

from routeradmin.access.models import SavedView, User

# Pages whose filters can be kept under a name.
PAGES = {"live": "Live", "turns": "Turns", "events": "Events"}
NEVER_KEPT = ("panel", "before", "all")  # where one is, not what one wants to see
MOST = 50


def of_person(request: HttpRequest) -> Any:
    return SavedView.objects.filter(user=cast(User, request.user))


def kept(query: str) -> str:
    """The part of an address's query that a view keeps."""
    pairs = parse_qsl(query.removeprefix("?"))  # leaves out what is empty
    return urlencode([(name, value) for name, value in pairs if name not in NEVER_KEPT])


@dataclass(frozen=True, slots=True)
class Offered:
    """A page's list of views. ``query`` is what the page shows now, ``current`` the view that
    says the same; ``start`` is the address that the page's bare one stands for, if it is not
    that itself."""

    page: str
    query: str
    views: Sequence[SavedView]
    current: SavedView | None
    start: str


def offered(request: HttpRequest, page: str) -> Offered:
    """One query."""
    asked = request.META.get("QUERY_STRING", "")
    now, views = kept(asked), list(of_person(request).filter(page=page))
    first = next((view for view in views if view.is_default), None)
    moved = first is not None and first.query and not asked
    return Offered(
        page,
        now,
        views,
        next((view for view in views if view.query == now), None),
        f"{reverse(page)}?{first.query}" if first and moved else "",
    )


def save(request: HttpRequest, page: str, name: str, query: str, is_default: bool) -> SavedView:
    """A new view, or another address under a name that there is already."""
    with transaction.atomic():
        if is_default:
            of_person(request).filter(page=page).update(is_default=False)
        view, _ = SavedView.objects.update_or_create(
            user=cast(User, request.user),
            page=page,
            name=name,
            defaults={"query": kept(query), "is_default": is_default},
        )
    return view


def make_default(view: SavedView, wanted: bool) -> None:
    with transaction.atomic():
        SavedView.objects.filter(user_id=view.user_id, page=view.page).update(is_default=False)
        SavedView.objects.filter(pk=view.pk).update(is_default=wanted)
