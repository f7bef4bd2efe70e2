"""Page or fragment, and what a browser is told after a form was accepted, or of what is gone."""

from __future__ import annotations

from typing import TypeVar

from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.cache import patch_vary_headers

Row = TypeVar("Row", bound=Model)


def wants_fragment(request: HttpRequest) -> bool:
    """An htmx request that swaps a part of a page, not one that restores history."""
    return (
        request.headers.get("HX-Request") == "true"
        and "HX-Boosted" not in request.headers
        and request.headers.get("HX-History-Restore-Request") != "true"
    )


def varied(response: HttpResponse) -> HttpResponse:
    """The answer depends on whether htmx asked; a cache must know."""
    patch_vary_headers(response, ["HX-Request"])
    return response


def see_other(request: HttpRequest, url: str) -> HttpResponse:
    """303 for a browser; for htmx the same as a header that makes it load the page."""
    if wants_fragment(request):
        response = HttpResponse(status=204)
        response["HX-Redirect"] = url
        return varied(response)
    response = HttpResponseRedirect(url)
    response.status_code = 303
    return varied(response)


def or_404(rows: QuerySet[Row], called: str) -> Row:
    """The first; raises Http404 in words."""
    row = rows.first()
    if row is None:
        raise Http404(f"There is no {called}.")
    return row
