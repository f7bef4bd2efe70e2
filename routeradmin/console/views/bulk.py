"""One action on many deployments: each says how it came out, and the rest can be tried again."""

from __future__ import annotations

from collections.abc import Iterable

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST

from routeradmin.console import catalog, curl, tagging, writes
from routeradmin.console.access import may_configure, operator, refused
from routeradmin.services import changes

PAST = {
    "enable": "enabled",
    "drain": "draining",
    "disable": "disabled",
    "tag": "tagged",
    "untag": "untagged",
}
STATES = ("enable", "drain", "disable")
UNDOES = {"enabled": "enable", "draining": "drain", "disabled": "disable"}
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
    tags, unread = _typed_tags(request)
    ways_back = {uid: _way_back(uid, action, tags) for uid in wanted}
    warned = _warned()
    if unread and action in tagging.CHANGES:
        results = [(uid, unread) for uid in wanted]
    else:
        results = [_one_of_many(request, uid, action, tags) for uid in wanted]
    done = [uid for uid, problem in results if not problem]
    context = {
        "results": results,
        "done": len(done),
        "action": action,
        "past": PAST[action],
        "tags": request.POST.get("tags", ""),
        "undo": _grouped({uid: ways_back[uid] for uid in done}),
        "warnings": [text for text in _warned() if text not in warned],
        "call": curl.each_deployment(wanted, action) if action in STATES else _tagged(done),
    }
    status = 200 if len(done) == len(results) else 422
    return render(request, "console/actions/bulk.html", context, status=status)


def _typed_tags(request: HttpRequest) -> tuple[list[str], str]:
    """The tags, and why they cannot be read; one of both is empty."""
    try:
        return tagging.words(request.POST.get("tags", "")), ""
    except changes.Invalid as invalid:
        return [], str(invalid)


def _tagged(uids: Iterable[str]) -> str:
    """A call for each deployment, since each keeps the tags that it had."""
    known = catalog.index().deployments
    found = [(uid, known[uid]) for uid in uids if uid in known]
    return "\n".join(
        curl.update("deployments", uid, {"tags": list(one.tags)}) for uid, one in found
    )


def _way_back(uid: str, action: str, tags: list[str]) -> str:
    """The action that takes this one back, as the deployment is now; empty where none does."""
    entry = catalog.index().deployments.get(uid)
    if entry is None:
        return ""
    if action in STATES:
        back = UNDOES[entry.admin_state]
        return back if back != action else ""
    had = set(tags) & set(entry.tags)
    if action == "tag":
        return "" if had else "untag"
    return "tag" if had == set(tags) else ""


def _grouped(ways_back: dict[str, str]) -> list[tuple[str, list[str]]]:
    """Each way back with the deployments that take it."""
    actions = dict.fromkeys(filter(None, ways_back.values()))
    return [(one, [uid for uid, back in ways_back.items() if back == one]) for one in actions]


def _warned() -> list[str]:
    """What is worth a look in the catalog in force: routes that nobody serves, above all."""
    try:
        return [problem.detail for problem in changes.standing_warnings()]
    except changes.Invalid:  # the catalog in force would be refused today: its edits say so
        return []


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
