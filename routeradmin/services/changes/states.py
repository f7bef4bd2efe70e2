"""What people want of an object: enabled, draining (for a while), disabled."""

from __future__ import annotations

from datetime import timedelta

from routeradmin.catalog.problems import Invalid, Problem
from routeradmin.engine.objects import AdminState
from routeradmin.journal.models import Event
from routeradmin.services.changes import reports
from routeradmin.services.changes.commit import Actor, Draft, commit
from routeradmin.services.changes.nouns import NOUNS, find, replaced
from routeradmin.services.changes.objects import Saved, saved

LONGEST_DRAIN_S = 366 * 86_400
EVENTS = {
    AdminState.ENABLED: "enabled",
    AdminState.DRAINING: "draining",
    AdminState.DISABLED: "disabled",
}


def drain(id: str, by: Actor, *, limit_s: float | None = None, reason: str = "") -> Saved:
    """No new leases for the deployment; after ``limit_s`` seconds it reads disabled."""
    return set_admin_state(
        "deployments", id, AdminState.DRAINING, by, limit_s=limit_s, reason=reason
    )


def disable(id: str, by: Actor, *, reason: str = "") -> Saved:
    return set_admin_state("deployments", id, AdminState.DISABLED, by, reason=reason)


def enable(id: str, by: Actor, *, reason: str = "") -> Saved:
    return set_admin_state("deployments", id, AdminState.ENABLED, by, reason=reason)


def set_admin_state(
    noun: str,
    id: str,
    state: AdminState,
    by: Actor,
    *,
    limit_s: float | None = None,
    reason: str = "",
) -> Saved:
    """For deployments, providers, credentials and routes. Raises NotFound, Invalid (limit_s).

    An action needs no version: whoever acts means the object as it is.
    """
    if limit_s is not None and not 0 <= limit_s <= LONGEST_DRAIN_S:
        raise Invalid([Problem("/limit_s", f"must be 0 to {LONGEST_DRAIN_S} seconds")])

    def edit(draft: Draft) -> None:
        wanted: dict[str, object] = {"admin_state": state.value}
        if noun == "deployments":
            limited = state is AdminState.DRAINING and limit_s is not None
            until = draft.now + timedelta(seconds=limit_s or 0) if limited else None
            wanted["drain_until"] = until
        entry = find(draft.before, noun, id).model_copy(update=wanted)
        draft.after = replaced(draft.before, NOUNS[noun], [entry])
        draft.reports.append(reports.of_object(EVENTS[state], noun, id, draft.before, draft.after))
        if noun == "deployments":
            event = Event(
                kind=EVENTS[state], at=draft.now, deployment=id, set_by=by.name, message=reason
            )
            draft.events.append(event)

    return saved(noun, id, commit(edit, by, reason, about=(NOUNS[noun], id)))
