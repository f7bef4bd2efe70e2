"""API keys: a key's text is shown once, by the answer that made it."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from routeradmin.access.models import ApiKey
from routeradmin.console import logs, writes
from routeradmin.console.access import admin
from routeradmin.console.forms.keys import KeyDraft
from routeradmin.console.htmx import see_other, varied, wants_fragment
from routeradmin.services import changes

KEYS = logs.Log(searched=("name", "uid", "prefix"))


@require_safe
def show(request: HttpRequest) -> HttpResponse:
    page = logs.page(KEYS, ApiKey.objects.all(), request.GET)
    return render(request, "console/keys/list.html", {"page": page})


@never_cache
@admin
@require_http_methods(["GET", "HEAD", "POST"])
def create(request: HttpRequest) -> HttpResponse:
    form = KeyDraft(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        fields = {name: value for name, value in form.typed().items() if value is not None}
        try:
            row, token = changes.create_key(
                fields, writes.actor(request), reason=form.cleaned_data["reason"]
            )
        except changes.Invalid as problems:
            writes.show_problems(form, problems)
        else:
            context = {"key": row, "token": token}
            return render(request, "console/keys/created.html", context)
    return _page(request, form, "")


@admin
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: HttpRequest, uid: str) -> HttpResponse:
    row = ApiKey.objects.filter(uid=uid).first()
    if row is None:
        raise Http404(f"There is no API key {uid!r}.")
    if request.method != "POST":
        return _page(request, KeyDraft.showing(_values(row), row.version), uid)
    form = KeyDraft(request.POST, exists=True)
    if form.is_valid():
        given = form.cleaned_data
        version = writes.version(given["version"])
        try:
            changes.update_key(
                uid, form.touched(), writes.actor(request), if_match=version, reason=given["reason"]
            )
        except changes.Invalid as problems:
            writes.show_problems(form, problems)
        except changes.Stale as stale:
            again, differences = form.rebased(stale.current, stale.version)
            more = {"conflict": True, "differences": differences}
            return _page(request, again, uid, 409, more)
        else:
            return see_other(request, "/keys")
    return _page(request, form, uid)


def _values(row: ApiKey) -> dict[str, Any]:
    return {**changes.key_values(row), "expires_at": row.expires_at}


def _page(
    request: HttpRequest,
    form: KeyDraft,
    uid: str,
    status: int | None = None,
    more: dict[str, Any] | None = None,
) -> HttpResponse:
    action = f"/edit/keys/{uid}" if uid else "/new/keys"
    context = {"form": form, "uid": uid, "action": action, "back": "/keys", **(more or {})}
    context["noun"] = {"one": "API key", "slug": "keys", "title": "API keys"}
    part = wants_fragment(request) and uid
    template = "console/catalog/_form.html" if part else "console/keys/form.html"
    answer = render(request, template, context, status=status or (422 if form.errors else 200))
    return varied(answer)


@admin
@require_POST
def revoke(request: HttpRequest, uid: str) -> HttpResponse:
    try:
        changes.revoke_key(uid, writes.actor(request))
    except changes.NotFound as missing:
        raise Http404(str(missing)) from missing
    return see_other(request, "/keys")


@admin
@require_POST
def delete(request: HttpRequest, uid: str) -> HttpResponse:
    try:
        changes.delete_key(uid, writes.actor(request), if_match="*")
    except changes.NotFound as missing:
        raise Http404(str(missing)) from missing
    return see_other(request, "/keys")
