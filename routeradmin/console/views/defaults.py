"""The catalog's defaults: what routes without a strategy or policy get, and what auto tries."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from routeradmin.catalog import rows
from routeradmin.catalog.document import Defaults
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


class Part(NamedTuple):
    """A form over some of the defaults: its page, its address and where a save leads, by name."""

    form: type[Draft]
    template: str
    url_name: str
    back: str


DEFAULTS = Part(DefaultsDraft, "console/defaults.html", "defaults", "routes")


@admin
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: HttpRequest) -> HttpResponse:
    return edit_part(request, DEFAULTS)


def edit_part(request: HttpRequest, part: Part) -> HttpResponse:
    """Show and save the fields of ``part``; those it does not hold stay as they are."""
    version = rows.version_of("defaults", "") or 0
    if request.method != "POST":
        return _page(request, part, part.form.showing(_full(catalog.document().defaults), version))
    form = part.form(request.POST, exists=True)
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
            current = _full(Defaults.model_validate(stale.current))
            again, differences = form.rebased(current, stale.version)
            return _page(request, part, again, 409, conflict=True, differences=differences)
        else:
            return see_other(request, reverse(part.back))
    return _page(request, part, form)


def _full(table: Defaults) -> dict[str, Any]:
    """With the fields that nobody stated: a form shows what counts."""
    return table.model_dump(mode="json")


def _page(
    request: HttpRequest, part: Part, form: Draft, status: int | None = None, **more: Any
) -> HttpResponse:
    context = {
        "form": form,
        "uid": part.url_name.replace("-", " "),
        "noun": {"one": "defaults", "slug": part.back},
        "action": reverse(part.url_name),
        "back": reverse(part.back),
        **more,
    }
    template = "console/catalog/_form.html" if wants_fragment(request) else part.template
    answer = render(request, template, context, status=status or (422 if form.errors else 200))
    return varied(answer)
