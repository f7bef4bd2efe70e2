"""Asked before something is taken away: what goes with it, who is affected, and why it is done.

A link leads to the question's page; with JavaScript the page's question comes as a dialog.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from routeradmin.console import writes
from routeradmin.console.htmx import varied, wants_fragment
from routeradmin.services import changes

MOST_LISTED = 100
CONFLICT = 409
REFUSED = 422


class Affected(NamedTuple):
    """Something that goes along or works otherwise afterwards. ``url`` leads to its page."""

    word: str
    name: str
    what: str
    url: str = ""
    sub: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """``yes`` is the button's text; ``version`` what the answer vouches for having seen.

    ``lines`` say what follows, ``affected`` lists whom; ``text`` is a difference to read.
    ``impossible``: why it cannot be done at all.
    """

    title: str
    yes: str
    back: str
    version: str
    lines: Sequence[str] = ()
    affected: Sequence[Affected] = ()
    warnings: Sequence[Any] = ()
    impossible: Sequence[Any] = ()
    text: str = ""
    call: str = ""
    crumbs: Sequence[tuple[str, str]] = ()

    @property
    def listed(self) -> Sequence[Affected]:
        return self.affected[:MOST_LISTED]

    @property
    def unlisted(self) -> int:
        return max(0, len(self.affected) - MOST_LISTED)


class Answer(NamedTuple):
    """A person's yes: the version that the question showed, and the reason."""

    version: int | str
    reason: str


def ask(
    request: HttpRequest,
    question: Callable[[], Question],
    do: Callable[[Answer], HttpResponse],
) -> HttpResponse:
    """The question; with POST ``do``, or the question again where that is refused."""
    if request.method != "POST":
        return _shown(request, question(), 200)
    reason = request.POST.get("reason", "")[:500]
    try:
        return do(Answer(writes.version(request.POST.get("version", "")), reason))
    except (changes.Stale, changes.InUse):
        return _shown(request, question(), CONFLICT, reason=reason, conflict=True)
    except changes.Invalid as invalid:
        return _shown(request, question(), REFUSED, reason=reason, problems=invalid.problems)


def _shown(request: HttpRequest, question: Question, status: int, **more: Any) -> HttpResponse:
    part = wants_fragment(request)
    template = "console/questions/_question.html" if part else "console/questions/page.html"
    context = {"question": question, "action": request.get_full_path(), "in_dialog": part, **more}
    return varied(render(request, template, context, status=status))
