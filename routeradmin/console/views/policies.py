"""Policies, told in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from routeradmin.console import judging, wording
from routeradmin.console.catalog import Index
from routeradmin.console.forms.policies import PolicyDraft
from routeradmin.console.nouns import Column, Entry, Noun, named
from routeradmin.services import runtime


def _waits(entry: Entry, index: Index) -> str:
    waits = wording.waits_s(entry.retry)
    return ", ".join(f"{wait:g}" for wait in waits) + " s" if waits else "none"


def _routes(entry: Entry, index: Index) -> int:
    return sum(route.policy_id == entry.id for route in index.document.routes)


def _cooldowns(entry: Entry, index: Index) -> str:
    return "on" if entry.cooldown.enabled else "off"


def _fallbacks(entry: Entry, index: Index) -> str:
    return " ".join(wording.fallback_words(entry.fallback, index.alias_of))


def _more(entry: Entry, index: Index) -> Mapping[str, Any]:
    return {
        "words": [
            ("Retry", [wording.retry_words(entry.retry)]),
            ("Turn", [wording.turn_words(entry.turn)]),
            ("Cooldowns", wording.cooldown_words(entry.cooldown)),
            ("Fallback", wording.fallback_words(entry.fallback, index.alias_of)),
        ]
    }


NOUN = Noun(
    slug="policies",
    kind="policies",
    one="policy",
    title="Policies",
    meaning="A policy holds retry, cooldown and fallback numbers that routes share. Routes "
    "without one use the built-in defaults.",
    form=PolicyDraft,
    list_links="console/policies/_links.html",
    detail_template="console/policies/detail.html",
    columns=(
        Column("Policy", named("policies"), "id"),
        Column("Rounds", lambda entry, index: entry.retry.max_attempts, "rounds", number=True),
        Column("Waits", _waits),
        Column("Cooldowns", _cooldowns, "cooldowns"),
        Column("Fallback", _fallbacks),
        Column("Routes", _routes, "routes", number=True),
    ),
    more=_more,
)


@require_safe
def judge(request: HttpRequest) -> HttpResponse:
    """Paste an error, see its class and what would happen under a policy."""
    current = runtime.get()
    asked = "status" in request.GET
    form = judging.ErrorForm(request.GET if asked else None)
    uid = request.GET.get("policy", "")
    context: dict[str, Any] = {"form": form, "policies": sorted(current.current.snapshot.policies)}
    context["policy"] = uid
    if asked and form.is_valid():
        policy = current.current.snapshot.policies.get(uid)
        context["verdict"] = judging.judge(form.cleaned_data, policy, current.clock())
    status = 422 if form.errors else 200
    return render(request, "console/policies/judge.html", context, status=status)
