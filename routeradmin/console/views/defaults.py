"""The catalog's defaults: what routes without a strategy or policy get, and what auto tries."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from django import forms
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from routeradmin.catalog import rows
from routeradmin.catalog.document import Defaults
from routeradmin.console import catalog, writes
from routeradmin.console.access import admin
from routeradmin.console.drafts import Draft, Groups
from routeradmin.console.fields import One, Words
from routeradmin.console.forms.routes import STRATEGIES
from routeradmin.console.sheets import Named, Sheet
from routeradmin.services import changes


class DefaultsDraft(Draft):
    fixed = ()
    strategy = forms.ChoiceField(
        label="Strategy",
        choices=(("", "simple_shuffle: the built-in one"), *STRATEGIES[1:]),
        required=False,
    )
    policy_id = One(
        catalog.Choices("policies"), label="Policy", empty="the built-in one", required=False
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
    sheet = Sheet(
        Named(part.back, "defaults", "Defaults", publishes=True),
        reverse(part.url_name),
        reverse(part.back),
        part.url_name.replace("-", " "),
        template=part.template,
        current=lambda stale: _full(Defaults.model_validate(stale.current)),
    )
    values = _full(catalog.document().defaults)

    def save(patch: dict[str, Any], by: changes.Actor, **given: Any) -> None:
        done = changes.update_defaults(patch, by, **given)
        writes.tell(request, (one for one in done.warnings if one.pointer.startswith("/defaults")))

    return sheet.edit(request, part.form, values, version, save)


def _full(table: Defaults) -> dict[str, Any]:
    """With the fields that nobody stated: a form shows what counts."""
    return table.model_dump(mode="json")
