"""Revisions: what was published, by whom and why; the way back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from routeradmin.catalog.diff import Diff, diff
from routeradmin.catalog.document import Document
from routeradmin.catalog.models import Revision
from routeradmin.console import consequences, curl, logs, writes
from routeradmin.console.access import admin
from routeradmin.console.htmx import or_404, see_other
from routeradmin.console.questions import Affected, Answer, Question, ask
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
    return or_404(Revision.objects.filter(number=number), f"revision r{number}")


@admin
@require_http_methods(["GET", "HEAD", "POST"])
def rollback(request: HttpRequest, number: int) -> HttpResponse:
    """A new revision with the catalog of an old one; wanted states stay as they are."""
    _found(number)

    def do(answer: Answer) -> HttpResponse:
        by = writes.actor(request)
        done = changes.rollback(number, by, answer.reason, if_match=answer.version)
        return see_other(request, reverse("revision", args=[done.revision]))

    return ask(request, lambda: _question(request, number), do)


def _question(request: HttpRequest, number: int) -> Question:
    # The revision first: what is published in between is then not overwritten unseen.
    in_force = runtime.get().current.revision
    affected: Sequence[Affected] = ()
    warnings: Sequence[changes.Problem] = ()
    impossible: Sequence[changes.Problem] = ()
    found = Diff()
    try:
        tried = changes.rollback(number, writes.actor(request), dry_run=True)
        found, warnings = tried.diff, tried.warnings
        affected = consequences.of(found, tried.document)
    except changes.Invalid as invalid:
        impossible = invalid.problems
    return Question(
        title=f"Roll back to r{number}?",
        yes=f"Roll back to r{number}",
        back=reverse("revision", args=[number]),
        version=str(in_force),
        lines=_lines(number, in_force, found, is_possible=not impossible),
        affected=affected,
        warnings=warnings,
        impossible=impossible,
        text=found.as_text(),
        call=curl.roll_back(number, in_force),
        crumbs=(
            ("Revisions", reverse("revisions")),
            (f"r{number}", reverse("revision", args=[number])),
        ),
    )


def _lines(number: int, in_force: int, found: Diff, *, is_possible: bool) -> list[str]:
    if not is_possible:
        return [f"The catalog of r{number} would be refused today."]
    if not found:
        return [f"r{number} differs in nothing from r{in_force}, which is in force."]
    counts = f"{len(found.added)} come back, {len(found.changed)} change, {len(found.removed)} go"
    return [
        f"Compared with r{in_force}, which is in force: {counts}.",
        "It becomes a new revision, so it can be taken back the same way. What is enabled, "
        "draining or disabled stays so.",
    ]
