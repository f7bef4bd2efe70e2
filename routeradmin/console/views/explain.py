"""Explain and simulate: why this one, and what if."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from asgiref.sync import async_to_sync
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe
from pydantic import ValidationError

from routeradmin.console import catalog, curl, errands, routing
from routeradmin.console.forms.explain import ExplainForm
from routeradmin.engine.errors import EngineError
from routeradmin.services import explaining, runtime
from routeradmin.services.keys import Key
from routeradmin.services.messages import Select, Simulate


@require_safe
def show(request: HttpRequest) -> HttpResponse:
    """The form alone, or with ``model`` its answer."""
    asked = "model" in request.GET
    form = ExplainForm(request.GET if asked else None, initial={"draws": 1000, "input_tokens": 512})
    lacking = [] if catalog.document().routes else ["routes"]
    context: dict[str, Any] = {
        "form": form,
        "names": _names(),
        "errands": errands.to_add(request, lacking),
    }
    status = 200
    if asked:
        status = 422
        if form.is_valid():
            try:
                context |= _answer(request, form)
                status = 200
            except EngineError as problem:
                form.add_error("model", str(problem))
            except ValidationError as wrong:
                for one in wrong.errors():
                    name = str(one["loc"][0])
                    form.add_error(name if name in form.fields else None, one["msg"])
    return render(request, "console/explain/page.html", context, status=status)


def _names() -> list[str]:
    document = catalog.document()
    return sorted(
        {route.alias for route in document.routes} | {alias.name for alias in document.aliases}
    )


def _answer(request: HttpRequest, form: ExplainForm) -> dict[str, Any]:
    person = Key(uid="", name=request.user.get_username(), scopes=frozenset({"read"}))
    body, current = form.body(), runtime.get()
    overlay = form.overlay()
    draws = form.cleaned_data["draws"] or 0
    simulated: dict[str, Any] | None = None

    async def on_the_loop() -> dict[str, Any]:
        if draws or overlay:
            message = Simulate(**body, **_simulated(overlay, draws))
            found = await explaining.simulate(current, message, person)
            if not overlay:  # nothing is assumed: the explanation can tell of the session as well
                found["explanation"] = await explaining.explain(current, Select(**body), person)
            return found
        return {"explanation": await explaining.explain(current, Select(**body), person)}

    simulated = async_to_sync(on_the_loop)()
    found = simulated["explanation"]
    return {
        "explanation": found,
        "chosen": _chosen(found),
        "waits": _longest_wait(found["route_id"]),
        "routing": routing.told(found),
        "shares": _shares(simulated.get("shares", {})) if draws else [],
        "refused": simulated.get("refused", 0) if draws else 0,
        "draws": draws,
        "assumed": bool(overlay),
        "curl": curl.post("simulate", body | _simulated(overlay, draws))
        if draws or overlay
        else curl.post("explain", body),
    }


def _chosen(found: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The candidate that is used; one with reasons against it is the route's last resort."""
    best = (found["selected_target_id"], found["selected_credential_id"])
    same = (one for one in found["targets"] if (one["target_id"], one["credential_id"]) == best)
    return next(same, None)


def _longest_wait(route_id: str) -> float:
    """For how long a turn that is left with nothing waits on this route."""
    route = catalog.index().routes.get(route_id)
    return float(route.max_wait_s) if route and route.when_exhausted == "wait" else 0.0


def _simulated(overlay: dict[str, Any], draws: int) -> dict[str, Any]:
    """What a simulation is asked beside the request; without draws one shows the assumed state."""
    return {"overlay": overlay, "draws": max(draws, 1)}


def _shares(shares: dict[str, float]) -> list[dict[str, Any]]:
    ordered = sorted(shares.items(), key=lambda pair: -pair[1])
    return [{"id": uid, "share": share, "percent": round(100 * share, 1)} for uid, share in ordered]
