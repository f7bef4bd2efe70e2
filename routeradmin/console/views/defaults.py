"""The catalog's defaults: what routes without a strategy or policy get, and what auto tries."""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from routeradmin.catalog import rows
from routeradmin.console import catalog, writes
from routeradmin.console.access import admin
from routeradmin.console.drafts import Draft, Groups
from routeradmin.console.fields import One, Words
from routeradmin.console.forms.routes import STRATEGIES
from routeradmin.console.htmx import see_other, varied, wants_fragment
from routeradmin.services import changes


class DefaultsDraft(Draft):
    fixed = ()
    strategy = forms.ChoiceField(
        label="Strategy",
        choices=(("", "simple_shuffle, unless chosen here"), *STRATEGIES[1:]),
        required=False,
    )
    policy_id = One(
        catalog.choices("policies"), label="Policy", empty="the built-in one", required=False
    )
    auto_priority = Words(
        label="Order for auto",
        required=False,
        help_text="Aliases or provider:model, separated by commas; the first that exists is used "
        "where no intent fits.",
    )
    groups: ClassVar[Groups] = (("Defaults", ("strategy", "policy_id", "auto_priority")),)

    def typed(self) -> dict[str, Any]:
        values = super().typed()
        values["strategy"] = values.get("strategy") or None
        return values


@admin
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: HttpRequest) -> HttpResponse:
    version = rows.version_of("defaults", "") or 0
    if request.method != "POST":
        values = catalog.document().defaults.model_dump(mode="json")
        return _page(request, DefaultsDraft.showing(values, version))
    form = DefaultsDraft(request.POST, exists=True)
    if form.is_valid():
        given = form.cleaned_data
        base = writes.version(given["version"])
        try:
            changes.update_defaults(
                form.patch(), writes.actor(request), if_match=base, reason=given["reason"]
            )
        except changes.Invalid as problems:
            writes.show_problems(form, problems)
        except changes.Stale as stale:
            again, differences = form.rebased(stale.current, stale.version)
            return _page(request, again, 409, conflict=True, differences=differences)
        else:
            return see_other(request, "/routes")
    return _page(request, form)


def _page(
    request: HttpRequest, form: DefaultsDraft, status: int | None = None, **more: Any
) -> HttpResponse:
    noun = {"one": "defaults", "slug": "routes", "title": "Routes"}
    context = {"form": form, "uid": "defaults", "noun": noun, "action": "/defaults"}
    part = wants_fragment(request)
    template = "console/catalog/_form.html" if part else "console/defaults.html"
    answer = render(
        request,
        template,
        {**context, "back": "/routes", **more},
        status=status or (422 if form.errors else 200),
    )
    return varied(answer)
