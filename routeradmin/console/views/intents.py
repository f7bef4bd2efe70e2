"""What ``auto`` would make of a text; the text is in no address and no record."""

from __future__ import annotations

from typing import Any

from asgiref.sync import async_to_sync
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from routeradmin.console import catalog, writes
from routeradmin.console.access import may_configure, refused
from routeradmin.services import changes, runtime
from routeradmin.services.intent import feedback, trying

MOST_CHARS = 100_000


@require_http_methods(["GET", "HEAD", "POST"])
def try_text(request: HttpRequest) -> HttpResponse:
    """The form, or after POST the decision; nothing is reserved.

    With ``right``, an admin says what it should have been, and may make an example of the text.
    """
    text, right = request.POST.get("text", "")[:MOST_CHARS], request.POST.get("right", "")
    if right and not may_configure(request):
        return refused(request, "admin")
    context: dict[str, Any] = {"text": text, "intents": catalog.document().intents}
    if text.strip():
        if right:
            context |= _judged(request, text, right)
        context["decision"] = async_to_sync(trying.try_out)(runtime.get(), text)
    return render(request, "console/intents/try.html", context)


def _judged(request: HttpRequest, text: str, right: str) -> dict[str, Any]:
    said = feedback.Judgement(
        right=right,
        decided=request.POST.get("decided", ""),
        text=text,
        add_example=request.POST.get("add_example") == "1",
    )
    try:
        feedback.judge(said, writes.actor(request))
    except changes.Invalid as invalid:
        return {"problems": invalid.problems}
    return {"judged": right, "is_example": said.add_example}
