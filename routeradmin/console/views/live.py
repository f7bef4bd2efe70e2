"""The live page: the header strip and the board, whole or as a snapshot for the socket's page."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any, NamedTuple

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from routeradmin.console import board, catalog, panels, saved_views, shared_boards
from routeradmin.console.access import may_configure
from routeradmin.console.htmx import varied, wants_fragment
from routeradmin.engine.describe import utc_text
from routeradmin.engine.state import CandidateKey
from routeradmin.journal.models import Event
from routeradmin.services import live, runtime

CHANGES_SHOWN = 8
JUST_NOW_S = 60


class Told(NamedTuple):
    """A recorded event with the names that a fresh change has, for their one template."""

    kind: str
    key: str
    at: datetime
    set_by: str
    cls: str
    status: int | None

    @classmethod
    def of(cls, event: Event) -> Told:
        key = CandidateKey(event.deployment, event.credential, event.matched)
        return cls(
            event.kind,
            str(key) if event.credential else event.deployment,
            event.at,
            event.set_by,
            event.failure_class,
            event.status,
        )


@require_safe
def show(request: HttpRequest) -> HttpResponse:
    """The page; htmx and the page's script get the board alone."""
    wanted = board.Filter.from_query(request.GET.dict())
    may_operate = bool(getattr(request.user, "may_operate", False))
    rights = {"may_operate": may_operate, "may_configure": may_configure(request)}
    if wants_fragment(request):
        asked = shared_boards.Asked(wanted, **rights)
        return varied(shared_boards.answer(request, runtime.get(), asked, lambda: _made(asked)))
    saved = saved_views.offered(request, "live")
    if saved.start:
        return redirect(saved.start)
    context = {**_board(wanted), "saved": saved, **rights}
    context["changes"] = [
        Told.of(event) for event in Event.objects.exclude(deployment="")[:CHANGES_SHOWN]
    ]
    if uid := request.GET.get("panel", ""):
        context |= panels.context(uid, wanted)
    return varied(render(request, "console/live/page.html", context))


@require_safe
def panel(request: HttpRequest) -> HttpResponse:
    """One candidate beside the list: alone for the page's script, else with its page."""
    wanted = board.Filter.from_query(request.GET.dict())
    uid = request.GET.get("panel", "")
    if not wants_fragment(request):
        return redirect(f"{reverse('live')}{wanted.link()}&{urlencode({'panel': uid})}")
    context = {"wanted": wanted, **panels.context(uid, wanted)}
    return varied(render(request, "console/live/_panel.html", context))


def _made(asked: shared_boards.Asked) -> str:
    context = {**_board(asked.wanted), **asked._asdict()}
    return render_to_string("console/live/_board.html", context)


def _providers(shown: Collection[str]) -> list[tuple[str, str]]:
    """Those that have candidates, with their names."""
    return [(uid, name) for uid, name in catalog.Choices("providers")() if uid in shown]


def _board(wanted: board.Filter) -> dict[str, Any]:
    current = runtime.get()
    state, snapshot = live.state_json(current), current.current.snapshot
    rows = state["candidates"]
    recently = utc_text(current.clock() - JUST_NOW_S)
    groups = board.groups(snapshot, rows, wanted, recently)
    return {
        "state": state,
        "process": current.process_id,
        "wanted": wanted,
        "groups": groups[: board.GROUPS_SHOWN],
        "more_groups": len(groups[board.GROUPS_SHOWN :]),
        "beats": current.heartbeats,
        "is_demo": current.is_demo,
        "sums": board.summary(rows),
        "standing": live.Standing.of(current),
        "figures": board.figures(wanted),
        "states": board.STATES,
        "doing": board.DOING,
        "sorts": board.SORTS,
        "groupings": board.GROUPINGS,
        "providers": _providers({row["provider"] for row in rows}),
        "routes": sorted(((r.id, r.alias) for r in snapshot.routes.values()), key=lambda p: p[1]),
    }
