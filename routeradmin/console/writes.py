"""From a person's form to ``services.changes`` and back: who acts, and how a refusal is shown."""

from __future__ import annotations

from collections.abc import Iterable

from django.contrib import messages
from django.forms import Form
from django.http import HttpRequest

from routeradmin.console.drafts import Draft
from routeradmin.services import changes


def actor(request: HttpRequest) -> changes.Actor:
    """The person answerable for a change, and the address it came from."""
    return changes.Actor(f"user:{request.user.get_username()}", request.META.get("REMOTE_ADDR", ""))


def tell(request: HttpRequest, warnings: Iterable[changes.Problem]) -> None:
    """What a save was warned of, on the page that follows it."""
    for warning in warnings:
        messages.warning(request, f"Saved, and worth a look: {warning.detail}")


def show_problems(form: Draft, problems: changes.Invalid) -> None:
    """Each problem beside the field that it names."""
    for problem in problems.problems:
        form.refuse(problem.pointer, problem.detail)


def show_taken(form: Form, refusal: changes.AlreadyExists, key: str) -> None:
    form.add_error(key if key in form.fields else None, str(refusal))


def version(text: str) -> int | str:
    """The version that a form was based on; one that no object has where it is missing."""
    return int(text) if text.isascii() and text.isdigit() else -1
