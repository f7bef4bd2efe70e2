"""API keys: a key's text is shown once, by the answer that made it."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from routeradmin.access.models import ApiKey
from routeradmin.console import curl, logs, writes
from routeradmin.console.access import admin
from routeradmin.console.forms.keys import KeyDraft
from routeradmin.console.htmx import or_404, see_other
from routeradmin.console.questions import Affected, Answer, Question, ask
from routeradmin.console.sheets import Named, Sheet
from routeradmin.services import changes

KEYS = logs.Log(searched=("name", "uid", "prefix"))
NOUN = Named("keys", "API key", "API keys")


@require_safe
def show(request: HttpRequest) -> HttpResponse:
    page = logs.page(KEYS, ApiKey.objects.all(), request.GET)
    return render(request, "console/keys/list.html", {"page": page})


@never_cache
@admin
@require_http_methods(["GET", "HEAD", "POST"])
def create(request: HttpRequest) -> HttpResponse:
    sheet = Sheet(
        NOUN,
        reverse("keys-new"),
        reverse("keys"),
        plain=True,
        call=lambda form: curl.create("keys", _fields(form)),
    )
    if request.method != "POST":
        return sheet.show(request, KeyDraft())

    def make(form: KeyDraft) -> HttpResponse:
        row, token = changes.create_key(
            _fields(form), writes.actor(request), reason=form.cleaned_data["reason"]
        )
        return render(request, "console/keys/created.html", {"key": row, "token": token})

    return sheet.take(request, KeyDraft(request.POST), make)


def _fields(form: KeyDraft) -> dict[str, Any]:
    return {name: value for name, value in form.given().items() if value is not None}


@admin
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: HttpRequest, uid: str) -> HttpResponse:
    row = _found(uid)
    sheet = Sheet(
        NOUN,
        reverse("keys-edit", args=[uid]),
        reverse("keys"),
        uid,
        row.name,
        current=lambda stale: KeyDraft.values_of(stale.current),
        call=lambda form: curl.update("keys", uid, form.patch()),
    )
    values = KeyDraft.values_of(changes.key_values(row))
    save = partial(changes.update_key, uid)
    return sheet.edit(request, KeyDraft, values, row.version, save)


def _found(uid: str) -> ApiKey:
    return or_404(ApiKey.objects.filter(uid=uid), f"API key {uid!r}")


@admin
@require_http_methods(["GET", "HEAD", "POST"])
def revoke(request: HttpRequest, uid: str) -> HttpResponse:
    def question() -> Question:
        return _question(
            _found(uid),
            "Revoke",
            "Whoever uses it is refused with 401 from the next request on; what runs goes on. "
            "This cannot be taken back: make a new key first.",
            curl.post(f"keys/{uid}/revoke"),
        )

    def do(answer: Answer) -> HttpResponse:
        by = writes.actor(request)
        changes.revoke_key(uid, by, if_match=answer.version, reason=answer.reason)
        return see_other(request, reverse("keys"))

    _found(uid)
    return ask(request, question, do)


@admin
@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest, uid: str) -> HttpResponse:
    def question() -> Question:
        row = _found(uid)
        line = "Its turns and audit entries stay and name it by its id alone."
        if row.revoked_at is None:
            line = f"Whoever uses it is refused with 401 from the next request on. {line}"
        return _question(row, "Delete", line, curl.delete_object("keys", uid))

    def do(answer: Answer) -> HttpResponse:
        by = writes.actor(request)
        changes.delete_key(uid, by, if_match=answer.version, reason=answer.reason)
        return see_other(request, reverse("keys"))

    _found(uid)
    return ask(request, question, do)


def _question(row: ApiKey, verb: str, line: str, call: str) -> Question:
    return Question(
        title=f"{verb} API key {row.name}?",
        yes=verb,
        back=reverse("keys"),
        version=str(row.version),
        lines=[line],
        affected=_users_of(row),
        call=call,
        crumbs=(("API keys", reverse("keys")),),
    )


def _users_of(row: ApiKey) -> list[Affected]:
    """Nobody else knows who holds a key: what it was used for tells."""
    if row.last_used_at is None:
        return []
    used = f"used last {row.last_used_at:%Y-%m-%d %H:%M} UTC"
    url = f"{reverse('turns')}?key={row.uid}"
    return [Affected("whoever sends", f"{row.prefix}…", used, url, ", ".join(row.scopes))]
