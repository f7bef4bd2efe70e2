"""Find, bind, do, render: the five pages that every kind of catalog object has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import URLPattern, path
from django.views.decorators.http import require_http_methods, require_safe

from routeradmin.catalog import rows
from routeradmin.console import catalog, consequences, curl, errands, standing, writes
from routeradmin.console.access import admin
from routeradmin.console.consequences import named_cell
from routeradmin.console.drafts import Draft, nested
from routeradmin.console.htmx import see_other
from routeradmin.console.listing import listing
from routeradmin.console.nouns import Noun, as_cell
from routeradmin.console.questions import Affected, Answer, Question, ask
from routeradmin.console.sheets import CHECK, PREVIEW, Sheet
from routeradmin.console.wording import one_of
from routeradmin.journal.models import AuditEntry
from routeradmin.services import changes, runtime

HISTORY_SHOWN = 6


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
    place = standing.place()
    found = listing(noun, catalog.index(), request.GET)
    context = {"noun": noun, "list": found, "place": place}
    return render(request, "console/catalog/list.html", context)


@require_safe
def detail_view(request: HttpRequest, noun: Noun, uid: str) -> HttpResponse:
    place = standing.place()
    index = catalog.index()
    entry = noun.find(index, uid)
    if entry is None:
        raise _not_there(noun, uid)
    context = {
        "place": place,
        "noun": noun,
        "uid": uid,
        "heading": noun.name_of(entry),
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


def dependents(noun: Noun, uid: str) -> list[dict[str, Any]]:
    """Who names the object, with links where they have pages."""
    found = changes.dependents(catalog.document(), noun.slug, uid)
    return [
        {
            "word": one_of(changes.NOUNS.get(one.noun, one.noun)),
            "cell": named_cell(one.noun, one.id),
            "field": one.field,
        }
        for one in found
    ]


@admin
@require_http_methods(["GET", "HEAD", "POST"])
def create_view(request: HttpRequest, noun: Noun) -> HttpResponse:
    form_class = noun.new_form or noun.form
    sheet = replace(_sheet(noun), action=request.get_full_path())
    if request.method != "POST":
        form = form_class(initial=_initial(request, noun))
        return sheet.show(request, form, errands=errands.for_form(request, form))

    def create(form: Draft) -> HttpResponse:
        values, trying = nested(_given(form)), _only_tries(request)
        reason = form.cleaned_data["reason"]
        saved = changes.create(noun.slug, values, writes.actor(request), reason, dry_run=trying)
        if trying:
            call = curl.create(noun.slug, values)
            return sheet.show(request, form, **_previewed(noun, saved, values, call))
        writes.tell(request, saved.own)
        return see_other(request, errands.onward(request, saved.id, noun.url(saved.id)))

    return sheet.take(request, form_class(request.POST), create)


def _sheet(noun: Noun, uid: str = "") -> Sheet:
    return Sheet(
        noun,
        action=noun.url(uid, "edit" if uid else "new"),
        back=noun.url(uid),
        uid=uid,
        heading=_heading(noun, uid),
        template=noun.form_template,
        key=noun.key,
    )


def _heading(noun: Noun, uid: str) -> str:
    entry = noun.find(catalog.index(), uid) if uid else None
    return noun.name_of(entry) if entry else uid


def _initial(request: HttpRequest, noun: Noun) -> dict[str, Any]:
    """What a new object's form opens with: another object's settings, and what the link says."""
    said = {name: request.GET[name] for name in noun.filled if name in request.GET}
    return {**_cloned(request, noun), **said, **errands.filled(request, noun.form)}


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
    # One that is gone is told by the save itself, with everything that was typed.
    version, sheet = rows.version_of(noun.kind, uid), _sheet(noun, uid)
    if request.method != "POST":
        if version is None:
            raise _not_there(noun, uid)
        values = changes.values_of(catalog.document(), noun.slug, uid)
        return sheet.show(request, noun.form.showing(values, version))

    def save(form: Draft) -> HttpResponse:
        trying = _only_tries(request)
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
            call = curl.update(noun.slug, uid, form.patch())
            return sheet.show(request, form, **_previewed(noun, saved, values, call))
        writes.tell(request, saved.own)
        return see_other(request, noun.url(uid))

    return sheet.take(request, noun.form(request.POST, exists=True), save)


def _version(noun: Noun, uid: str) -> int:
    version = rows.version_of(noun.kind, uid)
    if version is None:
        raise _not_there(noun, uid)
    return version


def _not_there(noun: Noun, uid: str) -> Http404:
    return Http404(f"There is no {noun.one} {uid!r}.")


def _given(form: Draft) -> dict[str, Any]:
    """What was typed; what was left empty takes its default."""
    return {name: value for name, value in form.typed().items() if value not in (None, "", [])}


def _only_tries(request: HttpRequest) -> bool:
    """``preview`` is asked for by a button, ``check`` by the page while somebody types."""
    return request.POST.get("do") in (PREVIEW, CHECK)


def _previewed(
    noun: Noun, draft: changes.Saved, values: dict[str, Any], call: str
) -> dict[str, Any]:
    """What the form as typed would change and do, and the call that would; nothing is saved."""
    own = {problem.detail for problem in draft.own}
    return {
        "draft": draft,
        "others": [one for one in draft.warnings if one.detail not in own],
        "diff": draft.diff.as_text(),
        "call": call,
        "preview": noun.preview(values) if noun.preview else None,
    }


@admin
@require_http_methods(["GET", "HEAD", "POST"])
def delete_view(request: HttpRequest, noun: Noun, uid: str) -> HttpResponse:
    """Asks first, with all that would go along; those are named, so they are taken along."""
    _version(noun, uid)

    def delete(answer: Answer) -> HttpResponse:
        changes.delete(
            noun.slug,
            uid,
            writes.actor(request),
            if_match=changes.ANY,
            revision=answer.version,
            cascade=request.POST.get("cascade") == "1",
            reason=answer.reason,
        )
        return see_other(request, noun.url())

    return ask(request, lambda: _question(request, noun, uid), delete)


def _question(request: HttpRequest, noun: Noun, uid: str) -> Question:
    # The revision first: what is published in between is then not deleted unseen.
    revision = runtime.get().current.revision
    along: Sequence[Affected] = ()
    warnings: Sequence[changes.Problem] = ()
    impossible: Sequence[changes.Problem] = ()
    try:
        by = writes.actor(request)
        tried = changes.delete(noun.slug, uid, by, if_match="*", cascade=True, dry_run=True)
        along = consequences.besides(noun.kind, uid, tried.diff, tried.document)
        warnings = tried.warnings
    except changes.Invalid as invalid:
        impossible = invalid.problems
    return Question(
        title=f"Delete {noun.one} {_heading(noun, uid)}?",
        yes="Delete",
        back=noun.url(uid),
        version=str(revision),
        lines=[_fate(along)],
        affected=along,
        warnings=warnings,
        impossible=impossible,
        call=curl.delete_object(noun.slug, uid, cascade=bool(along)),
        crumbs=((noun.title, noun.url()), (_heading(noun, uid), noun.url(uid))),
    )


def _fate(along: Sequence[Affected]) -> str:
    later = "Its history stays, and an earlier revision brings it back."
    return later if along else f"Nothing else needs it. {later}"
