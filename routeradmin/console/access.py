"""Who may do what on the console: one decorator per role, one answer when a right is missing."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, cast

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from routeradmin.access.models import Role

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponse]

RIGHTS = {
    "operator": "act on deployments and cooldowns, and try and judge intents",
    "admin": "change the catalog, API keys and users",
}


def refused(request: HttpRequest, role: str) -> HttpResponse:
    """403 with the name of the right that is missing."""
    context = {"role": Role(role).label, "right": RIGHTS[role]}
    return render(request, "console/forbidden.html", context, status=403)


def may_configure(request: HttpRequest) -> bool:
    return bool(getattr(request.user, "may_configure", False))


def _requires(role: str, attribute: str) -> Callable[[View[P]], View[P]]:
    def decorate(view: View[P]) -> View[P]:
        @wraps(view)
        def guarded(request: HttpRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
            if not getattr(request.user, attribute, False):
                return refused(request, role)
            return view(request, *args, **kwargs)

        return cast("View[P]", guarded)

    return decorate


def operator(view: View[P]) -> View[P]:
    """Actions: drain, disable, enable, cooldowns, probes."""
    return _requires("operator", "may_operate")(view)


def admin(view: View[P]) -> View[P]:
    """Catalog, keys and users."""
    return _requires("admin", "may_configure")(view)
