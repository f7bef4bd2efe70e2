"""Every way an operation can fail, as a problem document."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from django.conf import settings
from django.core.exceptions import DisallowedHost, RequestDataTooBig, SuspiciousOperation
from django.db import DatabaseError, InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError

from routeradmin import logs
from routeradmin.api import etags
from routeradmin.api.problems import Problem, pointer
from routeradmin.services.changes import AlreadyExists, InUse, Invalid, NotFound, Stale, Unfit

log = logging.getLogger(__name__)
UNREACHABLE = (OperationalError, InterfaceError)
MOST_LISTED = 1000  # places told of a body that is wrong everywhere


def too_large(limit: int) -> Problem:
    return Problem(
        413, "request_too_large", f"The body is larger than {limit} bytes; send less at a time."
    )


def on_problem(request: HttpRequest, problem: Problem) -> HttpResponse:
    return problem.response()


def on_validation(request: HttpRequest, fault: ValidationError) -> HttpResponse:
    """ninja's findings; the values themselves are not echoed."""
    return Problem(
        422,
        "invalid_request",
        "The request was not accepted; 'errors' lists every place and what it needs.",
        errors=[
            place(item["loc"], item["msg"], item["type"]) for item in fault.errors[:MOST_LISTED]
        ],
    ).response()


def place(loc: Sequence[str | int], message: str, kind: str) -> tuple[str, str]:
    """ninja's location as a pointer into the body, or ``?name`` and the like outside of it."""
    source, *path = loc
    detail = IN_JSON.get(kind) or message[:1].lower() + message[1:]
    if source == "body":
        if kind == "missing" and len(path) <= 1:
            return "", "the body is missing; send a JSON object"
        return pointer(path[1:]), detail
    name = str(path[0]) if path else source
    return (f"?{name}" if source == "query" else str(name)), detail


# pydantic's kinds whose own words are Python's.
IN_JSON = {
    "extra_forbidden": "is not a field of this object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "dict_type": "must be an object",
    "tuple_type": "must be a list",
    "list_type": "must be a list",
}


def on_http_error(request: HttpRequest, fault: HttpError) -> HttpResponse:
    """ninja wraps what its parser raises; the cause is what happened."""
    if isinstance(fault.__cause__, Problem):
        return fault.__cause__.response()
    return Problem(
        400, "invalid_json", "The body is not valid JSON; send one JSON object in UTF-8."
    ).response()


def on_too_big(request: HttpRequest, fault: Exception) -> HttpResponse:
    return too_large(settings.DATA_UPLOAD_MAX_MEMORY_SIZE or 0).response()


def on_suspicious(request: HttpRequest, fault: Exception) -> HttpResponse:
    """Django's own refusals, some of which come before the operation is looked for."""
    if isinstance(fault, DisallowedHost):
        return Problem(
            400,
            "unknown_host",
            "This server does not answer to the host that the request names; "
            "ROUTERADMIN_ALLOWED_HOSTS lists those it does.",
        ).response()
    return Problem(400, "bad_request", "The request makes no sense as HTTP.").response()


def on_invalid(request: HttpRequest, fault: Invalid) -> HttpResponse:
    """The catalog's own checks: every problem with its place."""
    too_big = fault.code == "too-large"
    return Problem(
        413 if too_big else 422,
        "request_too_large" if too_big else "invalid_request",
        "The change was not accepted and nothing was applied; 'errors' lists every place.",
        errors=[(problem.pointer, problem.detail) for problem in fault.problems[:MOST_LISTED]],
        more=_left_open(fault) if isinstance(fault, Unfit) else None,
    ).response()


def _left_open(fault: Unfit) -> dict[str, Any]:
    """As an accepted file's answer tells it."""
    return {
        "source": fault.source,
        "unmapped": [one.as_json() for one in fault.unmapped],
        "notes": [one.as_json() for one in fault.notes],
    }


def on_unknown(request: HttpRequest, fault: NotFound) -> HttpResponse:
    return Problem(
        404, "not_found", f"{sentence(fault)}; GET /api/v1/{fault.noun} lists those there are."
    ).response()


def on_taken(request: HttpRequest, fault: AlreadyExists) -> HttpResponse:
    return Problem(409, "already_exists", f"{sentence(fault)}.").response()


def on_stale(request: HttpRequest, fault: Stale) -> HttpResponse:
    """Somebody was faster, between the check of the condition and the write."""
    return etags.stale(None).response()


def on_in_use(request: HttpRequest, fault: InUse) -> HttpResponse:
    return Problem(
        409,
        "in_use",
        f"{sentence(fault)} (?cascade=true).",
        errors=[
            (pointer([one.noun, one.id, one.field]), "names the object") for one in fault.dependents
        ],
        more={"dependents": [one.as_json() for one in fault.dependents]},
    ).response()


def sentence(fault: Exception) -> str:
    text = str(fault)
    return text[:1].upper() + text[1:]


def on_database(request: HttpRequest, fault: Exception) -> HttpResponse:
    """A database that cannot be reached or read. What is said of one statement is a bug of ours:
    those kinds are subclasses, while a damaged file is told by the general kind itself."""
    if not isinstance(fault, UNREACHABLE) and type(fault) is not DatabaseError:
        return on_fault(request, fault)
    log.error("%s %s: the database fails", request.method, request.path, exc_info=fault)
    return Problem(
        503,
        "database_unavailable",
        "The database cannot be reached, so nothing was read or changed; routing goes on from the "
        "last snapshot. Try again.",
        headers={"Retry-After": "5"},
    ).response()


def on_missing(request: HttpRequest, fault: Any = None) -> HttpResponse:
    return Problem(
        404,
        "not_found",
        f"There is nothing at {request.path[:200]}; see /api/v1/docs for the paths.",
    ).response()


def on_fault(request: HttpRequest, fault: Exception) -> HttpResponse:
    """A bug of ours: logged with its traceback, told without it."""
    log.error("%s %s failed", request.method, request.path, exc_info=fault)
    return Problem(
        500,
        "internal_error",
        "Something is wrong in routeradmin itself; its log has the details under request id "
        f"{logs.request_id()}.",
    ).response()


HANDLERS: dict[type[Exception], Callable[[HttpRequest, Any], HttpResponse]] = {
    Problem: on_problem,
    ValidationError: on_validation,
    Invalid: on_invalid,
    NotFound: on_unknown,
    AlreadyExists: on_taken,
    Stale: on_stale,
    InUse: on_in_use,
    HttpError: on_http_error,
    RequestDataTooBig: on_too_big,
    SuspiciousOperation: on_suspicious,
    Http404: on_missing,
    DatabaseError: on_database,
    InterfaceError: on_database,
    Exception: on_fault,
}


def install(api: NinjaAPI) -> None:
    for kind, handler in HANDLERS.items():
        api.add_exception_handler(kind, handler)
