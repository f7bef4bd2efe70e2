"""Explain and simulate: why this one, and what if."""

from __future__ import annotations

from typing import Any

from asgiref.sync import async_to_sync
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe
from pydantic import ValidationError

from routeradmin.console import catalog, curl, errands, routing
from routeradmin.console.forms.explain import ExplainForm
from routeradmin.console.routing import Told
from routeradmin.console.standing import by_deployment
from routeradmin.engine.errors import EngineError
from routeradmin.services import explaining, runtime
from routeradmin.services.keys import Key
from routeradmin.services.messages import Assumed, Select, Simulate


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
    overlay, draws = _overlay(form), form.cleaned_data["draws"] or 0
    asked = Select(**body)
    message = Simulate(**body, overlay=overlay, draws=draws or 1)

    async def on_the_loop() -> dict[str, Any]:
        if not draws and not overlay:
            return {"explanation": await explaining.explain(current, asked, person)}
        found = await explaining.simulate(current, message, person)
        if not overlay:  # nothing is assumed: the explanation can tell of the session as well
            found["explanation"] = await explaining.explain(current, asked, person)
        return found

    found = async_to_sync(on_the_loop)()
    explanation, is_simulated = found["explanation"], bool(draws or overlay)
    return {
        "explanation": explanation,
        "candidates": _candidates(explanation, form),
        "assumed": bool(overlay),
        "routing": routing.told(explanation),
        "shares": _shares(found.get("shares", {})) if draws else [],
        "refused": found.get("refused", 0) if draws else 0,
        "draws": draws,
        "curl": _call(body, message) if is_simulated else curl.post("explain", body),
    }


def _overlay(form: ExplainForm) -> dict[str, Assumed]:
    """What is assumed: down is disabled, load comes on top of what is active now."""
    active = {row["id"]: row["active"] for rows in by_deployment().values() for row in rows}
    load = {name: active.get(name, 0) + more for name, more in form.load().items()}
    return {
        name: Assumed(disabled=name in form.down() or None, active=load.get(name))
        for name in [*form.down(), *load]
    }


def _candidates(explanation: Told, form: ExplainForm) -> list[dict[str, Any]]:
    """The explanation's candidates, with what is assumed of each."""
    down, load = form.down(), form.load()
    return [
        {**target, "id": uid, "is_down": uid in down, "load": load.get(uid, "")}
        for target in explanation["targets"]
        for uid in [f"{target['serving_model_id']}/{target['credential_id']}"]
    ]


def _call(body: dict[str, Any], message: Simulate) -> str:
    overlay = {name: one.model_dump(exclude_none=True) for name, one in message.overlay.items()}
    given = {"overlay": overlay} if overlay else {}
    return curl.post("simulate", {**body, **given, "draws": message.draws})


def _shares(shares: dict[str, float]) -> list[dict[str, Any]]:
    ordered = sorted(shares.items(), key=lambda pair: -pair[1])
    return [{"id": uid, "share": share, "percent": round(100 * share, 1)} for uid, share in ordered]
