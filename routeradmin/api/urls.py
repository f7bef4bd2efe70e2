"""The management API's URLs: ninja's, with problem documents where ninja answers in plain text.

An operation that does not take the request's method passes on to the next pattern that matches:
an object whose id ends like an action (``x/test``) stays reachable for the methods that no action
has.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.http.response import HttpResponseBase
from django.urls import URLPattern, re_path
from django.views.decorators.csrf import csrf_exempt

from routeradmin.api import faults
from routeradmin.api.application import api
from routeradmin.api.problems import Problem

PREFIX = "api/v1/"
View = Callable[..., HttpResponseBase]


def open_to_ninja(view: View) -> View:
    """ninja authenticates and checks CSRF itself: Django's own redirects would answer in HTML."""
    return login_not_required(csrf_exempt(view))


def in_turn(patterns: list[URLPattern]) -> View:
    """The view of the first pattern, passing on to the others what it does not take."""

    def view(request: HttpRequest, **kwargs: Any) -> HttpResponseBase:
        if "\x00" in request.path_info:  # nothing is called so, and databases refuse to look
            return missing(request)
        if request.content_type == "multipart/form-data":
            return not_understood()
        if request.method != "HEAD":
            return taken_by_one(patterns, request)
        request.method = "GET"
        try:
            return taken_by_one(patterns, request)
        finally:
            request.method = "HEAD"  # whoever sends the answer leaves out its body

    return open_to_ninja(view)


def taken_by_one(patterns: list[URLPattern], request: HttpRequest) -> HttpResponseBase:
    rest, allowed = request.path_info.removeprefix(f"/{PREFIX}"), set[str]()
    for pattern in patterns:
        match = pattern.resolve(rest)
        if match is None:
            continue
        answer = called(pattern, request, match.kwargs)
        if not isinstance(answer, HttpResponseNotAllowed):
            return answer
        allowed |= set(answer.headers["Allow"].split(", "))
    return not_allowed(request, allowed)


def called(pattern: URLPattern, request: HttpRequest, kwargs: dict[str, Any]) -> HttpResponseBase:
    request.known_parameters = parameters_of(pattern, request.method or "")  # type: ignore[attr-defined]
    try:
        answer: HttpResponseBase = pattern.callback(request, **kwargs)
    except Http404:
        return missing(request)
    return answer


def parameters_of(pattern: URLPattern, method: str) -> frozenset[str]:
    """The query parameters that the document gives the operation."""
    template = re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", str(pattern.pattern))
    paths = api.get_openapi_schema()["paths"]
    details = paths.get(f"/{PREFIX}{template}", {}).get(method.lower(), {})
    return frozenset(one["name"] for one in details.get("parameters", ()) if one["in"] == "query")


def not_understood() -> HttpResponse:
    return Problem(
        415, "unsupported_media_type", "Send the body as JSON, not as a form with parts."
    ).response()


def not_allowed(request: HttpRequest, taken: set[str]) -> HttpResponse:
    allowed = ", ".join(sorted(taken))
    return Problem(
        405,
        "method_not_allowed",
        f"{request.method} is not possible here; use {allowed}.",
        headers={"Allow": allowed},
    ).response()


def missing(request: HttpRequest) -> HttpResponse:
    return faults.on_missing(request)


api_missing = open_to_ninja(missing)  # also for paths that look like the API's and are not


def wrapped() -> list[URLPattern]:
    patterns = [entry for entry in api.urls[0] if isinstance(entry, URLPattern)]
    views = [
        URLPattern(pattern.pattern, in_turn(patterns[place:]), pattern.default_args, pattern.name)
        for place, pattern in enumerate(patterns)
    ]
    return [*views, re_path(r"", api_missing)]


api_urls = (wrapped(), "ninja", api.urls_namespace)
