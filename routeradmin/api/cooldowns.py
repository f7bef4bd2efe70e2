"""Running cooldowns: listed, set or extended by hand, cleared."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Router
from pydantic import Field

from routeradmin.api import listing
from routeradmin.api.access import acting, actor, reading
from routeradmin.api.answers import answer
from routeradmin.api.bodies import Page, Reason
from routeradmin.api.problems import invalid
from routeradmin.api.state import CooldownState, reading_of_now
from routeradmin.catalog.table import Table
from routeradmin.engine.describe import utc_text
from routeradmin.engine.state import Change
from routeradmin.services import cooldowns, runtime

router = Router(tags=["cooldowns"], by_alias=True)

FIELDS = ("deployment", "credential", "class", "set_by", "since", "until")
MOST_SECONDS = 365 * 24 * 3600


class RunningCooldown(CooldownState):
    """A cooldown with the candidate that rests."""

    id: str
    deployment: str
    credential: str
    matched: str | None


class Cleared(Page[str]):
    """Candidates whose state the call changed."""


class CooldownBody(Table):
    """``credential`` may be left out where the deployment has only one."""

    deployment: str = Field(max_length=256)
    credential: str | None = Field(None, max_length=256)
    seconds: float = Field(gt=0, le=MOST_SECONDS)
    reason: Reason = ""


def running() -> list[dict[str, Any]]:
    """Every open cooldown at this moment."""
    state = reading_of_now()
    return [
        {
            **{name: candidate[name] for name in ("id", "deployment", "credential", "matched")},
            **candidate["cooldown"],
        }
        for candidate in state["candidates"]
        if candidate["cooldown"] is not None
    ]


@router.get(
    "",
    response=Page[RunningCooldown],
    auth=reading,
    summary="List running cooldowns",
    openapi_extra={"parameters": listing.documented(FIELDS)},
)
def list_cooldowns(request: HttpRequest) -> HttpResponse:
    return answer(request, listing.of_request(request, running(), FIELDS))


@router.post("", response=RunningCooldown, auth=acting, summary="Set or extend a cooldown")
def set_cooldown(request: HttpRequest, body: CooldownBody) -> HttpResponse:
    """A cooldown that ends later already stays. Answers the one now in force."""
    credential = body.credential or only_credential(body.deployment)
    change = cooldowns.set_by_hand(
        body.deployment, credential, body.seconds, actor(request), body.reason
    )[0]
    in_force = [item for item in running() if item["id"] == str(change.key)]
    return answer(request, in_force[0] if in_force else elapsed(change))


def only_credential(deployment: str) -> str:
    """Raises NotFound, Problem 422 where there are several to choose from."""
    current = runtime.get()
    keys = cooldowns.keys_of(current, deployment, None)
    names = sorted({key.credential for key in keys})
    if len(names) != 1:
        raise invalid(
            "The request was not accepted.",
            ("/credential", f"is needed: the deployment has {', '.join(names) or 'none'}"),
        )
    return names[0]


def elapsed(change: Change) -> dict[str, Any]:
    """What was set, where it is over already: a very short one, or cleared by somebody else."""
    return {
        "id": str(change.key),
        "deployment": change.key.deployment,
        "credential": change.key.credential,
        "matched": change.key.matched or None,
        "class": change.cls,
        "status": change.status,
        "message": change.message,
        "since": utc_text(change.at),
        "until": utc_text(change.until or change.at),
        "remaining_s": 0.0,
        "level": change.level or 0,
        "set_by": change.set_by,
    }


@router.delete("", response=Cleared, auth=acting, summary="Clear cooldowns")
def clear_cooldowns(
    request: HttpRequest,
    deployment: str,
    credential: str | None = None,
    reason: Reason = "",
) -> HttpResponse:
    """Without ``credential`` all of the deployment's; levels and counts go to 0 as well."""
    changes = cooldowns.clear(deployment, credential, actor(request), reason)
    cleared = [str(change.key) for change in changes]
    return answer(request, {"items": cleared, "next_cursor": None, "total": len(cleared)})
