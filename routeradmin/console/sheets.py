"""One form on a page, whatever it edits: find, bind, do, render.

A view finds the object and binds the form; the sheet does what the form asks for and renders what
stands in the way: wrong values beside their fields, another's save field by field.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from routeradmin.console import curl, writes
from routeradmin.console.drafts import Draft
from routeradmin.console.htmx import see_other, varied, wants_fragment
from routeradmin.services import changes

CONFLICT = 409
REFUSED = 422
PREVIEW = "preview"  # the button that shows what would change
CHECK = "check"  # what the page itself asks while somebody types
FRAGMENT = "console/catalog/_form.html"
Form = TypeVar("Form", bound=Draft)


class Named(NamedTuple):
    """What templates call a kind of object: its list's URL name, one of it, all of it.

    ``publishes``: a save makes a revision of the catalog.
    """

    slug: str
    one: str
    title: str
    publishes: bool = False


@dataclass(frozen=True, slots=True)
class Sheet:
    """A form's page. ``noun`` is a ``Named`` or a ``Noun``; ``uid`` is empty for a new object.

    ``action`` and ``back`` are addresses, ``key`` the field of a taken id. ``plain``: what follows
    is a page, not a part of one. ``current`` reads a conflict as the form's values.
    ``call``: the same by API, where the page can show it before it is done.
    """

    noun: Any
    action: str
    back: str
    uid: str = ""
    heading: str = ""
    template: str = "console/catalog/form.html"
    key: str = "id"
    plain: bool = False
    current: Callable[[changes.Stale], Mapping[str, Any]] = lambda stale: stale.current
    call: Callable[[Any], str] | None = None

    def show(
        self, request: HttpRequest, form: Draft, status: int = 200, **more: Any
    ) -> HttpResponse:
        context = {
            "noun": self.noun,
            "form": form,
            "uid": self.uid,
            "heading": self.heading or self.uid,
            "action": self.action,
            "back": self.back,
            "plain": self.plain,
            "can_try": self.call is not None,
            "emptied": _emptied(request, form),
            **more,
        }
        if request.POST.get("do") == CHECK:
            status = 200  # an unfinished form is not wrong: no error in the browser's console
        if not self.noun.publishes:
            form["reason"].help_text = "Kept in the audit log."
        template = FRAGMENT if wants_fragment(request) else self.template
        return varied(render(request, template, context, status=status))

    def edit(
        self,
        request: HttpRequest,
        draft: type[Draft],
        values: Mapping[str, Any],
        version: int,
        save: Callable[..., object],
    ) -> HttpResponse:
        """The form of an object that exists; ``save`` gets what was touched, who touched it,
        ``if_match`` and ``reason``."""
        if request.method != "POST":
            return self.show(request, draft.showing(values, version))

        def do(form: Draft) -> HttpResponse:
            given = form.cleaned_data
            seen, by = writes.version(given["version"]), writes.actor(request)
            save(form.patch(), by, if_match=seen, reason=given["reason"])
            return see_other(request, self.back)

        return self.take(request, draft(request.POST, exists=True), do)

    def take(
        self, request: HttpRequest, form: Form, do: Callable[[Form], HttpResponse]
    ) -> HttpResponse:
        """``do`` with a valid form; the form again, as typed, where that or it is refused."""
        moved = form.rearranged()
        if moved is not None:
            return self.show(request, moved)
        if not form.is_valid():
            return self.show(request, form, REFUSED)
        if self.call is not None and request.POST.get("do") in (PREVIEW, CHECK):
            return self.show(request, form, tried=form.changes(), call=self.call(form))
        try:
            return do(form)
        except changes.Invalid as problems:
            writes.show_problems(form, problems)
        except changes.AlreadyExists as refusal:
            writes.show_taken(form, refusal, self.key)
        except changes.NotFound:
            gone = f"{self.heading or self.uid} was deleted meanwhile: add it again to keep this."
            form.add_error(None, gone)
        except changes.Stale as stale:
            return self._conflict(request, form, stale)
        return self.show(request, form, REFUSED)

    def _conflict(self, request: HttpRequest, form: Draft, stale: changes.Stale) -> HttpResponse:
        again, differences = form.rebased(self.current(stale), stale.version)
        return self.show(request, again, CONFLICT, conflict=True, differences=differences)


def _emptied(request: HttpRequest, form: Draft) -> list[str]:
    """Labels of the secrets that were typed and that no page gets back. The page's own check puts
    nothing but its findings into the page, where they still stand."""
    if request.POST.get("do") == CHECK:
        return []
    typed = [name for name in curl.SECRETS if name in form.fields and request.POST.get(name)]
    return [str(form.fields[name].label) for name in typed]
