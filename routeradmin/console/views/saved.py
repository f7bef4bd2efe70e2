"""Saved views: kept from the page that they are of; renamed, chosen as the start, deleted here."""

from __future__ import annotations

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path, reverse
from django.views.decorators.http import require_POST, require_safe

from routeradmin.access.models import SavedView
from routeradmin.console import saved_views
from routeradmin.console.htmx import or_404, see_other


class ViewForm(forms.Form):
    page = forms.ChoiceField(choices=list(saved_views.PAGES.items()))
    name = forms.CharField(max_length=64)
    query = forms.CharField(max_length=1000, required=False)
    is_default = forms.BooleanField(required=False)


@require_safe
def show(request: HttpRequest) -> HttpResponse:
    return _listed(request)


def _listed(request: HttpRequest, problem: str = "") -> HttpResponse:
    found = list(saved_views.of_person(request))
    pages = [
        {"title": title, "url": reverse(name), "views": [one for one in found if one.page == name]}
        for name, title in saved_views.PAGES.items()
    ]
    context = {"pages": pages, "problem": problem}
    return render(request, "console/views/list.html", context, status=422 if problem else 200)


@require_POST
def save(request: HttpRequest) -> HttpResponse:
    """What the page shows, under a name; the page opens with it again."""
    form = ViewForm(request.POST)
    if not form.is_valid():
        return _listed(request, _problem(form))
    if saved_views.of_person(request).count() >= saved_views.MOST:
        return _listed(request, f"There are {saved_views.MOST} views already: delete one first.")
    view = saved_views.save(request, **form.cleaned_data)
    return see_other(request, f"{reverse(view.page)}?{view.query or 'all'}")


def _problem(form: forms.Form) -> str:
    return " ".join(
        f"{name}: {' '.join(map(str, problems))}" for name, problems in form.errors.items()
    )


@require_POST
def change(request: HttpRequest, uid: int) -> HttpResponse:
    """Rename it, open its page with it or not any more, or delete it."""
    view = or_404(saved_views.of_person(request).filter(pk=uid), "such view of yours")
    problem = _change(request, view)
    return _listed(request, problem) if problem else see_other(request, reverse("views"))


def _change(request: HttpRequest, view: SavedView) -> str:
    """What speaks against it; empty when it is done."""
    match request.POST.get("do", ""):
        case "delete":
            view.delete()
        case "start" | "no-start" as word:
            saved_views.make_default(view, word == "start")
        case _:
            return _rename(request, view)
    return ""


def _rename(request: HttpRequest, view: SavedView) -> str:
    name = request.POST.get("name", "").strip()
    if not name or len(name) > 64:
        return "A view has a name of at most 64 characters."
    if saved_views.of_person(request).filter(page=view.page, name=name).exclude(pk=view.pk):
        return f"There is a view “{name}” already."
    view.name = name
    view.save()
    return ""


URLS = [
    path("views", show, name="views"),
    path("views/save", save, name="views-save"),
    path("views/<int:uid>", change, name="view"),
]
