"""Import and export of the whole catalog: first what would change, then the change."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods, require_safe

from routeradmin.catalog import files
from routeradmin.console import catalog, curl, writes
from routeradmin.console.access import may_configure, refused
from routeradmin.console.forms.transfer import ELEMENT, SOURCES, ImportForm
from routeradmin.console.htmx import see_other, varied, wants_fragment
from routeradmin.services import changes, runtime

CONTENT_TYPES = {"toml": "application/toml", "json": "application/json"}


@require_http_methods(["GET", "HEAD", "POST"])
def show(request: HttpRequest) -> HttpResponse:
    if request.method != "POST":
        return _page(request, ImportForm())
    if not may_configure(request):
        return refused(request, "admin")
    form = ImportForm(request.POST, request.FILES)
    if not form.is_valid():
        return _page(request, form, 422)
    return _taken(request, form)


def _taken(request: HttpRequest, form: ImportForm) -> HttpResponse:
    """The preview, or with ``do=apply`` the import itself of what was looked at."""
    given = form.cleaned_data
    applying, revision = request.POST.get("do") == "apply", given["revision"]
    if applying and given["looked"] != given["digest"]:
        return _page(request, _again(given), 409, differs=True)
    try:
        file = changes.import_file(
            given["bytes"],
            writes.actor(request),
            format=given["format"] or "auto",
            mode=given["mode"],
            dry_run=not applying,
            if_match=int(revision) if applying and revision.isdigit() else "*",
            reason=given["reason"],
        )
    except changes.Invalid as invalid:
        open_points = {"file": invalid} if isinstance(invalid, changes.Unfit) else {}
        told = {"problems": invalid.problems, "source": SOURCES.get(_source(invalid), "")}
        return _page(request, _again(given), 422, **told, **open_points)
    except changes.Stale:
        return _page(request, _again(given), 409, conflict=True)
    done = file.imported
    if applying:
        return see_other(request, f"/revisions/{done.revision}" if done.changed else "/transfer")
    source = SOURCES.get(file.source, file.source)
    return _page(request, _again(given), file=file, source=source, preview=done, diff=_text(done))


def _source(invalid: changes.Invalid) -> str:
    return invalid.source if isinstance(invalid, changes.Unfit) else ""


def _text(done: changes.Imported) -> str:
    """The difference to read, with the secrets that come along."""
    signs = {"added": "+", "replaced": "~"}
    secrets = [f"{signs[what]} secret {name}" for name, what in done.secrets.items()]
    return "\n".join(filter(None, [done.diff.as_text(), *secrets]))


def _again(given: dict[str, Any]) -> ImportForm:
    """The same form with the file in it, so that the next step needs none: as text, but for
    another program's, which may hold keys and goes to the page sealed.

    A browser with JavaScript gets what came of it alone and keeps its form as it is.
    """
    data = given["bytes"]
    held = (
        {"sealed": changes.sealed_file(data)}
        if files.is_foreign(data)
        else {"text": data.decode("utf-8", "replace")}
    )
    return ImportForm(
        initial={
            **held,
            "format": given["format"],
            "mode": given["mode"],
            "reason": given["reason"],
            "revision": str(runtime.get().current.revision),
            "looked": given["digest"],
        }
    )


def _page(request: HttpRequest, form: ImportForm, status: int = 200, **more: Any) -> HttpResponse:
    part = wants_fragment(request)
    template = "console/transfer/_outcome.html" if part else "console/transfer/page.html"
    sealed = not part and bool(form.initial.get("sealed"))
    context = {
        "form": form,
        "counts": _counts(),
        "element": ELEMENT,
        "sealed": sealed,
        "call": _call(request, form, is_next="diff" in more),
        **more,
    }
    return varied(render(request, template, context, status=status))


def _call(request: HttpRequest, form: ImportForm, *, is_next: bool) -> str:
    """What comes next: the import of what was looked at, on the catalog it was looked at with, or
    before that the look."""
    looked, file = form.initial, request.FILES.get("file")
    return curl.import_file(
        (file.name if file else "") or "catalog.toml",
        looked.get("mode") or "merge",
        looked.get("format") or "",
        int(looked["revision"]) if is_next else None,
    )


def _counts() -> list[tuple[int, str]]:
    document = catalog.document()
    return [
        (len(document.providers), "providers"),
        (len(document.accounts), "credentials"),
        (len(document.serving_models), "deployments"),
        (len(document.routes), "routes"),
    ]


@require_safe
def export(request: HttpRequest, format: str) -> HttpResponse:
    """The catalog as a file; secrets are references."""
    data = files.write(catalog.document(), "json" if format == "json" else "toml")
    name = f"catalog-r{runtime.get().current.revision}.{format}"
    response = HttpResponse(data, content_type=CONTENT_TYPES[format])
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
