"""One action on many deployments: each says how it came out, and the rest can be tried again."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST

from routeradmin.console import tagging, writes
from routeradmin.console.access import may_configure, operator, refused
from routeradmin.services import changes

PAST = {
    "enable": "enabled",
    "drain": "draining",
    "disable": "disabled",
    "tag": "tagged",
    "untag": "untagged",
}
MOST_AT_ONCE = 50  # a page of the list


@operator
@require_POST
def bulk(request: HttpRequest) -> HttpResponse:
    """One action on every deployment that is ticked; each says how it came out."""
    wanted, action = request.POST.getlist("uid")[:MOST_AT_ONCE], request.POST.get("action", "")
    if action not in PAST:
        raise Http404("There is no such action.")
    if action in tagging.CHANGES and not may_configure(request):
        return refused(request, "admin")
    tags = tagging.words(request.POST.get("tags", ""))
    results = [_one_of_many(request, uid, action, tags) for uid in wanted]
    done = sum(problem == "" for _, problem in results)
    context = {
        "results": results,
        "done": done,
        "action": action,
        "past": PAST[action],
        "tags": ", ".join(tags),
    }
    status = 200 if done == len(results) else 422
    return render(request, "console/actions/bulk.html", context, status=status)


def _one_of_many(request: HttpRequest, uid: str, action: str, tags: list[str]) -> tuple[str, str]:
    """The deployment and what went wrong with it; empty when nothing did."""
    reason = request.POST.get("reason", "")[:500]
    try:
        if action in tagging.CHANGES:
            tagging.change(uid, action, tags, writes.actor(request), reason)
        else:
            getattr(changes, action)(uid, writes.actor(request), reason=reason)
    except (changes.Refused, changes.Invalid) as refusal:
        return uid, str(refusal)
    return uid, ""
