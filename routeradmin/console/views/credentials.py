"""Credentials. Their secrets are written and never shown: a fingerprint and a date tell them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.http import require_http_methods

from routeradmin.catalog.models import Secret
from routeradmin.console import catalog, curl, writes
from routeradmin.console.access import admin
from routeradmin.console.catalog import Index
from routeradmin.console.forms.credentials import CredentialDraft, NewCredentialDraft, SecretForm
from routeradmin.console.htmx import see_other, varied
from routeradmin.console.nouns import (
    STATE_CHOICE,
    Cell,
    Choice,
    Column,
    Entry,
    Noun,
    health_of,
    link,
    named,
    providers_by_name,
    state_of,
    tags_of,
)
from routeradmin.services import changes, runtime


def _provider(entry: Entry, index: Index) -> Cell:
    return link("providers", entry.provider_id)


def _secret(entry: Entry, index: Index) -> Cell:
    if entry.secret_reference_id is None:
        return Cell("none needed")
    missing = runtime.get().secrets.missing.get(entry.id)
    if missing:
        return Cell("missing", state="needs-attention", sub=missing)
    outside = entry.secret_reference_id.startswith(("env:", "file:"))
    return Cell(entry.secret_reference_id if outside else "stored")


def _endpoints(entry: Entry, index: Index) -> int:
    return sum(one.account_id == entry.id for one in index.document.endpoints)


def _more(entry: Entry, index: Index) -> Mapping[str, Any]:
    return {"secret": Secret.objects.filter(reference=entry.secret_reference_id or "").first()}


NOUN = Noun(
    slug="credentials",
    kind="accounts",
    one="credential",
    title="Credentials",
    meaning="A credential is a secret, or none, of one provider, and how it is billed.",
    form=CredentialDraft,
    new_form=NewCredentialDraft,
    detail_template="console/credentials/detail.html",
    columns=(
        Column("Credential", named("credentials"), "id"),
        Column("Provider", _provider, "provider"),
        Column("Authentication", lambda entry, index: entry.auth_kind, "auth"),
        Column("Billing", lambda entry, index: entry.billing_kind, "billing"),
        Column("Secret", _secret),
        health_of("credential"),
        Column("Wanted state", state_of, "state"),
        Column("Endpoints", _endpoints, "endpoints", number=True),
        Column("Tags", tags_of),
    ),
    choices=(
        Choice(
            "provider",
            "Provider",
            providers_by_name,
            lambda entry, index: entry.provider_id,
        ),
        STATE_CHOICE,
    ),
    facts=(Column("Header of the key", lambda entry, index: entry.api_key_header),),
    more=_more,
)


@admin
@require_http_methods(["GET", "HEAD", "POST"])
def replace_secret(request: HttpRequest, uid: str) -> HttpResponse:
    """A new secret for a credential; neither the old nor the typed one is ever shown."""
    if NOUN.find(catalog.index(), uid) is None:
        raise Http404(f"There is no credential {uid!r}.")
    form = SecretForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        given = form.cleaned_data
        try:
            changes.replace_secret(uid, given["secret"], writes.actor(request), given["reason"])
        except changes.Invalid as problems:
            for problem in problems.problems:
                form.add_error("secret", problem.detail)
        else:
            return see_other(request, NOUN.url(uid))
    call = curl.post(f"credentials/{quote(uid)}/secret", {"secret": ""})
    context = {"noun": NOUN, "uid": uid, "form": form, "call": call}
    status = 422 if form.errors else 200
    return varied(render(request, "console/credentials/secret.html", context, status=status))


SECRET_URL = path("secret/credentials/<path:uid>", replace_secret, name="credentials-secret")
