"""Find, bind, do, render: the five pages that every kind of catalog object has."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import NoReverseMatch, URLPattern, path, reverse
from django.views.decorators.http import require_http_methods, require_safe

from routeradmin.catalog import rows
from routeradmin.console import catalog, curl, writes
from routeradmin.console.access import admin
from routeradmin.console.drafts import Draft, nested
from routeradmin.console.htmx import see_other, varied, wants_fragment
from routeradmin.console.listing import listing
from routeradmin.console.nouns import Noun, as_cell
from routeradmin.journal.models import AuditEntry
from routeradmin.services import changes

HISTORY_SHOWN = 6
CONFLICT = 409
REFUSED = 422


def urls(noun: Noun) -> list[URLPattern]:
    """The verb comes first and the id is the rest, since ids may hold slashes."""
    slug, given = noun.slug, {"noun": noun}
    return [
        path(slug, list_view, given, name=slug),
        path(f"new/{slug}", create_view, given, name=f"{slug}-new"),
        path(f"edit/{slug}/<path:uid>", edit_view, given, name=f"{slug}-edit"),
        path(f"delete/{slug}/<path:uid>", delete_view, given, name=f"{slug}-delete"),
        path(f"{slug}/<path:uid>", detail_view, given, name=f"{slug}-one"),
    ]


@require_safe
def list_view(request: HttpRequest, noun: Noun) -> HttpResponse:
    found = listing(noun, catalog.index(), request.GET)
    return render(request, "console/catalog/list.html", {"noun": noun, "list": found})


@require_safe
def detail_view(request: HttpRequest, noun: Noun, uid: str) -> HttpResponse:
    index = catalog.index()
    entry = noun.find(index, uid)
    if entry is None:
        raise Http404(f"There is no {noun.one} {uid!r}.")
    context = {
        "noun": noun,
        "uid": uid,
        "entry": entry,
        "state": getattr(entry, "admin_state", ""),
        "facts": [
            (column.title, as_cell(column.read(entry, index)))
            for column in (*noun.columns[1:], *noun.facts)
        ],
        "dependents": dependents(noun, uid),
        "history": AuditEntry.objects.filter(kind=noun.slug, object_id=uid)[:HISTORY_SHOWN],
        "curl": curl.get(noun.slug, uid),
        **noun.more(entry, index),
    }
    return render(request, noun.detail_template, context)


def dependents(noun: Noun, uid: str) -> list[dict[str, str]]:
    """Who names the object, with links where they have pages."""
    found = changes.dependents(catalog.document(), noun.slug, uid)
    return [
        {"word": one.noun, "id": one.id, "field": one.field, "url": _page_of(one)} for one in found
    ]


def _page_of(one: changes.Dependent) -> str:
    """A target is shown by its route; rules, intents and defaults have no page."""
    noun, uid = one.noun, one.id
    if noun == "targets":
        noun, uid = "routes", catalog.index().route_of_target.get(uid, "")
    try:
        return reverse(f"{noun}-one", args=[uid])
    except NoReverseMatch:
        return ""


@admin
@require_http_methods(["GET", "HEAD", "POST"])
def create_view(request: HttpRequest, noun: Noun) -> HttpResponse:
    form_class = noun.new_form or noun.form
    if request.method != "POST":
        return _form_page(request, noun, form_class(initial=_initial(request, noun)))
    form = form_class(request.POST)
    if not form.is_valid():
        return _form_page(request, noun, form, status=REFUSED)
    given, trying = nested(_given(form)), _only_tries(request)
    try:
        saved = changes.create(
            noun.slug,
            given,
            writes.actor(request),
            form.cleaned_data["reason"],
            dry_run=trying,
        )
        if trying:
            return _previewed(request, noun, form, saved, given)
    except changes.Invalid as problems:
        writes.show_problems(form, problems)
    except changes.AlreadyExists as refusal:
        writes.show_taken(form, refusal, noun.key)
    else:
        return see_other(request, noun.url(saved.id))
    return _form_page(request, noun, form, status=REFUSED)


def _initial(request: HttpRequest, noun: Noun) -> dict[str, Any]:
    """What a new object's form opens with: another object's settings, and what the link says."""
    said = {name: request.GET[name] for name in noun.filled if name in request.GET}
    return {**_cloned(request, noun), **said}


def _cloned(request: HttpRequest, noun: Noun) -> dict[str, Any]:
    """A draft of another object's settings: without its id, its secret, its targets' ids."""
    uid = request.GET.get("clone", "")
    if not uid or noun.find(catalog.index(), uid) is None:
        return {}
    values = changes.values_of(catalog.document(), noun.slug, uid)
    for name in (noun.key, "alias", "secret_reference_id"):
        values.pop(name, None)
    for target in values.get("targets", ()):
        target["id"] = ""
    shown = noun.form.showing(values, 0).initial
    return {name: value for name, value in shown.items() if name not in ("version", "seen")}


@admin
@require_http_methods(["GET", "HEAD", "POST"])
def edit_view(request: HttpRequest, noun: Noun, uid: str) -> HttpResponse:
    # The version first: if the object changes in between, saving is refused, not the other way.
    version = rows.version_of(noun.kind, uid)
    if version is None:
        raise Http404(f"There is no {noun.one} {uid!r}.")
    if request.method != "POST":
        values = changes.values_of(catalog.document(), noun.slug, uid)
        return _form_page(request, noun, noun.form.showing(values, version), uid)
    form = noun.form(request.POST, exists=True)
    if not form.is_valid():
        return _form_page(request, noun, form, uid, status=REFUSED)
    return _save(request, noun, uid, form)


def _given(form: Draft) -> dict[str, Any]:
    """What was typed; what was left empty takes its default."""
    return {name: value for name, value in form.typed().items() if value not in (None, "", [])}


def _only_tries(request: HttpRequest) -> bool:
    """``preview`` is asked for by a button, ``check`` by the page while somebody types."""
    return request.POST.get("do") in ("preview", "check")


def _previewed(
    request: HttpRequest,
    noun: Noun,
    form: Draft,
    draft: changes.Saved,
    values: dict[str, Any],
    uid: str = "",
) -> HttpResponse:
    """The form as typed, with what it would change and do; nothing is saved."""
    extra = {
        "draft": draft,
        "diff": draft.diff.as_text(),
        "preview": noun.preview(values) if noun.preview else None,
    }
    return _form_page(request, noun, form, uid, extra=extra)


def _save(request: HttpRequest, noun: Noun, uid: str, form: Draft) -> HttpResponse:
    trying = _only_tries(request)
    try:
        saved = changes.update(
            noun.slug,
            uid,
            form.patch(),
            writes.actor(request),
            if_match="*" if trying else writes.version(form.cleaned_data["version"]),
            reason=form.cleaned_data["reason"],
            dry_run=trying,
        )
        if trying:
            values = nested({**_given(form), noun.key: uid})
            return _previewed(request, noun, form, saved, values, uid)
    except changes.Invalid as problems:
        writes.show_problems(form, problems)
    except changes.NotFound:
        form.add_error(None, f"{uid} was deleted meanwhile: add it again to keep this.")
    except changes.Stale as stale:
        again, differences = form.rebased(stale.current, stale.version)
        extra = {"conflict": True, "differences": differences}
        return _form_page(request, noun, again, uid, CONFLICT, extra)
    else:
        return see_other(request, noun.url(uid))
    return _form_page(request, noun, form, uid, status=REFUSED)


def _form_page(
    request: HttpRequest,
    noun: Noun,
    form: Draft,
    uid: str = "",
    status: int = 200,
    extra: dict[str, Any] | None = None,
) -> HttpResponse:
    context = {
        "noun": noun,
        "form": form,
        "uid": uid,
        "action": noun.url(uid, "edit" if uid else "new"),
        "back": noun.url(uid),
        **(extra or {}),
    }
    if request.POST.get("do") == "check":
        status = 200  # an unfinished form is not wrong: no error in the browser's console
    part = wants_fragment(request)
    template = "console/catalog/_form.html" if part else noun.form_template
    return varied(render(request, template, context, status=status))


@admin
@require_http_methods(["GET", "HEAD", "POST"])
def delete_view(request: HttpRequest, noun: Noun, uid: str) -> HttpResponse:
    version = rows.version_of(noun.kind, uid)
    if version is None:
        raise Http404(f"There is no {noun.one} {uid!r}.")
    conflict = False
    if request.method == "POST":
        try:
            changes.delete(
                noun.slug,
                uid,
                writes.actor(request),
                if_match=writes.version(request.POST.get("version", "")),
                cascade=request.POST.get("cascade") == "1",
                reason=request.POST.get("reason", "")[:500],
            )
        except (changes.InUse, changes.Stale):
            conflict = True
        else:
            return see_other(request, noun.url())
    context: dict[str, Any] = {
        "noun": noun,
        "uid": uid,
        "version": version,
        "conflict": conflict,
        "dependents": dependents(noun, uid),
    }
    status = CONFLICT if conflict else 200
    return render(request, "console/catalog/delete.html", context, status=status)
