"""Page or fragment, and what a browser is told after a form was accepted."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.cache import patch_vary_headers


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
