"""People and their roles; admins only."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods, require_safe

from routeradmin.access.models import User
from routeradmin.console import logs, writes
from routeradmin.console.access import admin
from routeradmin.console.forms.keys import NewUserDraft, UserDraft
from routeradmin.console.htmx import see_other, varied, wants_fragment
from routeradmin.services import changes

USERS = logs.Log(
    filters=(logs.Sought("role", "Role", "role", ("viewer", "operator", "admin")),),
    searched=("username",),
)


@admin
@require_safe
def show(request: HttpRequest) -> HttpResponse:
    page = logs.page(USERS, User.objects.all(), request.GET)
    return render(request, "console/users/list.html", {"page": page})


@admin
@require_http_methods(["GET", "HEAD", "POST"])
def create(request: HttpRequest) -> HttpResponse:
    form = NewUserDraft(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        try:
            changes.create_user(form.typed(), writes.actor(request), form.cleaned_data["reason"])
        except changes.Invalid as problems:
            writes.show_problems(form, problems)
        except changes.AlreadyExists as refusal:
            writes.show_taken(form, refusal, "username")
        else:
            return see_other(request, "/users")
    return _page(request, form, "")


@admin
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: HttpRequest, name: str) -> HttpResponse:
    user = _found(name)
    if request.method != "POST":
        return _page(request, UserDraft.showing(changes.user_values(user), user.version), name)
    form = UserDraft(request.POST, exists=True)
    if form.is_valid():
        given = form.cleaned_data
        version = writes.version(given["version"])
        try:
            changes.update_user(
                name,
                form.touched(),
                writes.actor(request),
                if_match=version,
                reason=given["reason"],
            )
        except changes.Invalid as problems:
            writes.show_problems(form, problems)
        except changes.Stale as stale:
            again, differences = form.rebased(stale.current, stale.version)
            more = {"conflict": True, "differences": differences}
            return _page(request, again, name, 409, more)
        else:
            return see_other(request, "/users")
    return _page(request, form, name)


def _found(name: str) -> User:
    user = User.objects.filter(username=name).first()
    if user is None:
        raise Http404(f"There is no user {name!r}.")
    return user


def _page(
    request: HttpRequest,
    form: UserDraft,
    name: str,
    status: int | None = None,
    more: dict[str, Any] | None = None,
) -> HttpResponse:
    action = f"/edit/users/{name}" if name else "/new/users"
    context = {"form": form, "uid": name, "action": action, "back": "/users", **(more or {})}
    context["noun"] = {"one": "user", "slug": "users", "title": "Users"}
    template = (
        "console/catalog/_form.html" if wants_fragment(request) else "console/users/form.html"
    )
    answer = render(request, template, context, status=status or (422 if form.errors else 200))
    return varied(answer)


@admin
@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest, name: str) -> HttpResponse:
    user = _found(name)
    problems: list[str] = []
    if request.method == "POST":
        version = writes.version(request.POST.get("version", ""))
        try:
            changes.delete_user(name, writes.actor(request), if_match=version)
        except changes.Invalid as invalid:
            problems = [problem.detail for problem in invalid.problems]
        except changes.Stale as stale:
            problems = [str(stale)]
        else:
            return see_other(request, "/users")
    context = {"person": user, "problems": problems}
    status = 409 if problems else 200
    return render(request, "console/users/delete.html", context, status=status)
