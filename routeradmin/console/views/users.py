"""People and their roles; admins only."""

from __future__ import annotations

from functools import partial

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from routeradmin.access.models import Role, User
from routeradmin.console import curl, logs, writes
from routeradmin.console.access import RIGHTS, admin
from routeradmin.console.forms.keys import NewUserDraft, UserDraft
from routeradmin.console.htmx import or_404, see_other
from routeradmin.console.questions import Affected, Answer, Question, ask
from routeradmin.console.sheets import Named, Sheet
from routeradmin.services import changes

USERS = logs.Log(
    filters=(logs.Sought("role", "Role", "role", Role.choices),),
    searched=("username",),
)
NOUN = Named("users", "user", "Users")


@admin
@require_safe
def show(request: HttpRequest) -> HttpResponse:
    page = logs.page(USERS, User.objects.all(), request.GET)
    return render(request, "console/users/list.html", {"page": page})


@admin
@require_http_methods(["GET", "HEAD", "POST"])
def create(request: HttpRequest) -> HttpResponse:
    sheet = Sheet(
        NOUN,
        reverse("users-new"),
        reverse("users"),
        key="username",
        call=lambda form: curl.create("users", form.typed()),
    )
    if request.method != "POST":
        return sheet.show(request, NewUserDraft())

    def make(form: NewUserDraft) -> HttpResponse:
        changes.create_user(form.typed(), writes.actor(request), form.cleaned_data["reason"])
        return see_other(request, reverse("users"))

    return sheet.take(request, NewUserDraft(request.POST), make)


@admin
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: HttpRequest, name: str) -> HttpResponse:
    user = _found(name)
    sheet = Sheet(
        NOUN,
        reverse("users-edit", args=[name]),
        reverse("users"),
        name,
        call=lambda form: curl.update("users", name, form.patch()),
    )
    save = partial(changes.update_user, name)
    return sheet.edit(request, UserDraft, changes.user_values(user), user.version, save)


def _found(name: str) -> User:
    return or_404(User.objects.filter(username=name), f"user {name!r}")


@admin
@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest, name: str) -> HttpResponse:
    def question() -> Question:
        user = _found(name)
        is_self = user == request.user
        return Question(
            title=f"Delete user {name}?",
            yes="Delete and sign me out" if is_self else "Delete",
            back=reverse("users"),
            version=str(user.version),
            lines=["Their sessions end. What they did stays in the audit log under this name."],
            affected=[
                Affected(
                    user.get_role_display(), name, _loses(user), reverse("users-edit", args=[name])
                )
            ],
            call=curl.delete_object("users", name),
            crumbs=(("Users", reverse("users")),),
        )

    def do(answer: Answer) -> HttpResponse:
        by = writes.actor(request)
        changes.delete_user(name, by, if_match=answer.version, reason=answer.reason)
        return see_other(request, reverse("users"))

    _found(name)
    return ask(request, question, do)


def _loses(user: User) -> str:
    """What the person cannot do any more, and when that was last of use."""
    rights = ["look", *(right for role, right in RIGHTS.items() if getattr(user, MAY[role]))]
    last = f"signed in last {user.last_login:%Y-%m-%d %H:%M} UTC" if user.last_login else ""
    return f"can no longer {', '.join(rights)}{f'; {last}' if last else ''}"


MAY = {"operator": "may_operate", "admin": "may_configure"}
