"""Actions on deployments and their cooldowns: done at once, with the way back and the API call."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from routeradmin.console import curl, standing, writes
from routeradmin.console.access import operator
from routeradmin.console.htmx import see_other, varied, wants_fragment
from routeradmin.services import changes, connecting, cooldowns, looking, runtime

MOST_COOLDOWN_S = 7 * 86400
STEP_WORDS = {"dns": "DNS", "tls": "TLS", "auth": "key accepted", "first_token": "first token"}


class Step(NamedTuple):
    """One thing that was tried; ``ok`` None: not tried, or it cannot be told."""

    name: str
    ok: bool | None
    duration_ms: float | None
    detail: str


@dataclass(frozen=True, slots=True)
class Done:
    """What was done, in words; ``undo`` is the action that takes it back, ``undo_s`` for how many
    seconds where it needs them."""

    text: str
    call: str
    undo: str = ""
    undo_s: int = 0
    steps: Sequence[Step] = ()


class Refused(Exception):
    """The action cannot be done; the text says why."""


@dataclass(frozen=True, slots=True)
class Asked:
    """An action's form: whom, by whom, and why."""

    deployment: str
    credential: str | None
    by: changes.Actor
    reason: str
    form: QueryDict

    @property
    def whom(self) -> str:
        return f"{self.deployment}/{self.credential}" if self.credential else self.deployment


def _state_before(asked: Asked) -> str:
    known = runtime.get().current.snapshot.deployments.get(asked.deployment)
    if known is None:
        raise Refused(f"There is no deployment {asked.deployment!r} any more.")
    return str(known.admin_state)


UNDOES = {"enabled": "enable", "draining": "drain", "disabled": "disable"}


def _wanted(action: str, past: str) -> Callable[[Asked], Done]:
    def act(asked: Asked) -> Done:
        before = _state_before(asked)
        getattr(changes, action)(asked.deployment, asked.by, reason=asked.reason)
        undo = UNDOES[before] if UNDOES[before] != action else ""
        body = {"reason": asked.reason} if asked.reason else None
        call = curl.deployment_action(asked.deployment, action, body)
        return Done(f"{asked.deployment} {past}.", call, undo)

    return act


def _clear(asked: Asked) -> Done:
    left_s = _cooldown_left_s(asked)
    changed = cooldowns.clear(asked.deployment, asked.credential, asked.by, asked.reason)
    text = f"Cleared {asked.whom}." if changed else f"{asked.whom} had nothing to clear."
    call = curl.clear_cooldown(asked.deployment, asked.credential)
    return Done(text, call, "cool" if left_s else "", undo_s=left_s)


def _cooldown_left_s(asked: Asked) -> int:
    """Whole seconds that one candidate still cools; of a whole deployment nothing is taken back,
    since its candidates cool for different times."""
    rows = standing.rows_of(asked.deployment)
    mine = (row["cooldown"] for row in rows if row["credential"] == asked.credential)
    return max((math.ceil(one["remaining_s"]) for one in mine if one), default=0)


def _cool(asked: Asked) -> Done:
    try:
        seconds = float(asked.form.get("seconds", ""))
    except ValueError:
        raise Refused("Give the cooldown's length in seconds.") from None
    if not 0 < seconds <= MOST_COOLDOWN_S:
        raise Refused("A cooldown lasts between 1 second and 7 days.")
    cooldowns.set_by_hand(asked.deployment, asked.credential, seconds, asked.by, asked.reason)
    body: dict[str, Any] = {
        "deployment": asked.deployment,
        "credential": asked.credential,
        "seconds": seconds,
        "reason": asked.reason,
    }
    given = {name: value for name, value in body.items() if value}
    return Done(f"{asked.whom} cools for {seconds:g} s.", curl.post("cooldowns", given), "clear")


def _probe(asked: Asked) -> Done:
    """The deployment's own probe, now, with each credential or the one that was named."""
    seen = looking.probe(
        asked.deployment, asked.by, credential_id=asked.credential, reason=asked.reason
    )
    steps = [
        Step(
            f"{one.credential}, {one.mode}",
            one.outcome.failure is None,
            one.duration_ms,
            " ".join(filter(None, (one.outcome.failure, one.outcome.message))),
        )
        for one in seen
    ]
    call = curl.deployment_action(asked.deployment, "probe")
    return Done(f"Probed {asked.whom}.", call, steps=steps)


def _test(asked: Asked) -> Done:
    """How far a request gets; changes nothing."""
    tested = connecting.try_out(
        asked.deployment, asked.by, credential_id=asked.credential, reason=asked.reason
    )
    steps = [
        Step(STEP_WORDS.get(one.name, one.name), one.ok, one.duration_ms, one.detail)
        for one in tested.steps
    ]
    verdict = "works" if tested.ok else "does not work"
    text = f"{asked.deployment} {verdict} with {tested.credential}."
    return Done(text, curl.deployment_action(asked.deployment, "test"), steps=steps)


ACTIONS: dict[str, Callable[[Asked], Done]] = {
    "drain": _wanted("drain", "drains: no new requests"),
    "disable": _wanted("disable", "is disabled"),
    "enable": _wanted("enable", "is enabled"),
    "clear": _clear,
    "cool": _cool,
    "probe": _probe,
    "test": _test,
}


@operator
@require_POST
def act(request: HttpRequest) -> HttpResponse:
    """``action`` on ``deployment``, or on its candidate with ``credential``."""
    asked = Asked(
        deployment=request.POST.get("deployment", ""),
        credential=request.POST.get("credential") or None,
        by=writes.actor(request),
        reason=request.POST.get("reason", "")[:500],
        form=request.POST,
    )
    action = ACTIONS.get(request.POST.get("action", ""))
    try:
        if action is None:
            raise Refused("There is no such action.")
        done = action(asked)
    except (Refused, changes.Refused, changes.Invalid) as refusal:
        return _told(request, asked, None, str(refusal))
    return _told(request, asked, done)


def _told(request: HttpRequest, asked: Asked, done: Done | None, problem: str = "") -> HttpResponse:
    """A toast for htmx; a message on the page that was left otherwise."""
    status = 422 if done is None else 200
    context = {"asked": asked, "done": done, "problem": problem}
    if wants_fragment(request):
        return varied(render(request, "console/actions/_toast.html", context, status=status))
    if done is None:
        return render(request, "console/actions/refused.html", context, status=status)
    messages.success(request, done.text)
    return see_other(request, _back(request, asked))


def _back(request: HttpRequest, asked: Asked) -> str:
    came_from = request.headers.get("Referer", "")
    if url_has_allowed_host_and_scheme(came_from, {request.get_host()}, request.is_secure()):
        return came_from
    return "/"
