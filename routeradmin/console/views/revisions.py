"""Revisions: what was published, by whom and why; the way back."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST, require_safe

from routeradmin.catalog.diff import diff
from routeradmin.catalog.document import Document
from routeradmin.catalog.models import Revision
from routeradmin.console import curl, logs, writes
from routeradmin.console.access import admin
from routeradmin.console.htmx import see_other
from routeradmin.services import changes, runtime

REVISIONS = logs.Log(
    filters=(logs.Sought("author", "Author", "author"),), searched=("author", "reason", "digest")
)


@require_safe
def show(request: HttpRequest) -> HttpResponse:
    pair = [request.GET.get(name, "") for name in ("compare", "with")]
    if all(one.isascii() and one.isdigit() and len(one) < 10 for one in pair):
        newer, older = sorted(map(int, pair), reverse=True)
        return see_other(request, f"/revisions/{newer}?against={older}")
    page = logs.page(REVISIONS, Revision.objects.defer("document"), request.GET)
    context = {"page": page, "in_force": runtime.get().current.revision}
    return render(request, "console/revisions/list.html", context)


@require_safe
def one(request: HttpRequest, number: int) -> HttpResponse:
    """One revision with what it changed; ``?against=n`` compares it with any other."""
    return render(request, "console/revisions/detail.html", _context(request, number))


def _context(request: HttpRequest, number: int) -> dict[str, Any]:
    row = _found(number)
    asked = request.GET.get("against", "")
    against = int(asked) if asked.isascii() and asked.isdigit() and len(asked) < 10 else number - 1
    before = changes.revision_document(_found(against)) if against > 0 else Document()
    found = diff(before, changes.revision_document(row))
    return {
        "revision": row,
        "against": against,
        "diff": found,
        "text": found.as_text(),
        "in_force": runtime.get().current.revision,
        "curl": curl.get("revisions", str(number)),
    }


def _found(number: int) -> Revision:
    row = Revision.objects.filter(number=number).first()
    if row is None:
        raise Http404(f"There is no revision r{number}.")
    return row


@admin
@require_POST
def rollback(request: HttpRequest, number: int) -> HttpResponse:
    """A new revision with the catalog of an old one; wanted states stay as they are."""
    _found(number)
    reason = request.POST.get("reason", "")[:500]
    try:
        done = changes.rollback(number, writes.actor(request), reason)
    except changes.Invalid as invalid:
        context = {**_context(request, number), "problems": invalid.problems}
        return render(request, "console/revisions/detail.html", context, status=422)
    return see_other(request, f"/revisions/{done.revision}")
