"""Intents at work: decisions and what people say of them, a text to try, the shipped ones."""

from __future__ import annotations

from typing import Any

from asgiref.sync import async_to_sync
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path, reverse
from django.views.decorators.http import require_http_methods

from routeradmin.console import catalog, curl, decisions, routing, writes
from routeradmin.console.access import admin, may_configure, operator
from routeradmin.console.forms.intents import IntentSettingsDraft, JudgeForm, LoadDraft, TryForm
from routeradmin.console.htmx import see_other
from routeradmin.console.sheets import Named, Sheet
from routeradmin.console.views import defaults
from routeradmin.services import changes, runtime
from routeradmin.services.intent import feedback, shipped, trying
from routeradmin.services.intent.feedback import Judgement

REFUSED = 422
SPANS = (1, 7, 30, 90)  # days; judgements are kept for 90
SETTINGS = defaults.Part(
    IntentSettingsDraft, "console/intents/settings.html", "intents-settings", "intents"
)


@require_http_methods(["GET", "HEAD", "POST"])
def show(request: HttpRequest) -> HttpResponse:
    """Decisions, judgements and the table of both; a POST is one judgement."""
    if request.method == "POST":
        return _judge(request)
    given = {"turn": request.GET.get("turn", "")}
    return _page(request, JudgeForm(initial=given, may_teach=may_configure(request)))


@operator
def _judge(request: HttpRequest) -> HttpResponse:
    form = JudgeForm(request.POST, may_teach=may_configure(request))
    if form.is_valid():
        try:
            row = feedback.judge(_judgement(form.cleaned_data), writes.actor(request))
        except changes.Invalid as problems:
            for problem in problems.problems:
                field = problem.pointer.rpartition("/")[2]
                form.add_error(field if field in form.fields else None, problem.detail)
        except changes.NotFound as problem:
            form.add_error(None, str(problem))
        else:
            messages.success(request, _noted(row))
            return see_other(request, reverse("intents-feedback"))
    return _page(request, form, REFUSED)


def _judgement(given: dict[str, Any]) -> Judgement:
    return Judgement(
        right=given["right"],
        turn=given["turn"],
        decided=given.get("decided", ""),
        text=given.get("text", ""),
        add_example=given.get("add_example", False),
    )


def _noted(row: Any) -> str:
    verdict = "right" if row.decided == row.right else f"wrong, {row.right} would be right"
    learned = f" The text is an example of {row.right} now." if row.example_added else ""
    return f"Noted: {row.decided} was {verdict}.{learned}"


def _page(request: HttpRequest, form: JudgeForm, status: int = 200) -> HttpResponse:
    asked = request.GET.get("days", "")
    days = int(asked) if asked in map(str, SPANS) else SPANS[-1]
    found = feedback.confusion(days)
    turn = form["turn"].value()
    context = {
        "form": form,
        "days": days,
        "spans": SPANS,
        "decided": decisions.recent(days),
        "judged": decisions.of_turn(turn) if turn else None,
        "said": feedback.recent(),
        "found": found,
        "table": decisions.table(found["cells"]),
        "tiers": decisions.by_tier(found["decisions"]),
    }
    return render(request, "console/intents/feedback.html", context, status=status)


@require_http_methods(["GET", "HEAD", "POST"])
def try_out(request: HttpRequest) -> HttpResponse:
    if request.method == "POST":
        return _tried(request)
    return render(request, "console/intents/try.html", {"form": TryForm()})


@operator
def _tried(request: HttpRequest) -> HttpResponse:
    form = TryForm(request.POST)
    if not form.is_valid():
        return render(request, "console/intents/try.html", {"form": form}, status=REFUSED)
    given = form.cleaned_data
    decide = async_to_sync(trying.try_out)
    found = decide(runtime.get(), given["text"], has_image=given["has_image"])
    judging = {"decided": found["intent"] or feedback.NOTHING, "text": given["text"]}
    context = {
        "form": form,
        "found": found,
        "part": routing.decision(found),
        "near": [_near(one) for one in found["similar"]],
        "judge": JudgeForm(initial=judging, may_teach=may_configure(request), auto_id="judge_%s"),
    }
    return render(request, "console/intents/try.html", context)


def _near(similar: dict[str, Any]) -> dict[str, Any]:
    """With the catalog's own words; empty where it was changed meanwhile."""
    entries = [one for one in catalog.document().intents if one.id == similar["intent"]]
    examples = entries[0].examples if entries else ()
    place = similar["example"]
    text = examples[place] if place < len(examples) else ""
    return {**similar, "text": text, "share": max(0.0, similar["similarity"])}


@admin
@require_http_methods(["GET", "HEAD", "POST"])
def settings(request: HttpRequest) -> HttpResponse:
    return defaults.edit_part(request, SETTINGS)


@admin
@require_http_methods(["GET", "HEAD", "POST"])
def load(request: HttpRequest) -> HttpResponse:
    """The shipped intents, each with the route that serves it."""
    noun, back = Named("intents", "chosen intents", "Intents", publishes=True), reverse("intents")
    sheet = Sheet(
        noun,
        request.path,
        back,
        template="console/intents/load.html",
        call=lambda form: curl.post(
            "intents/defaults",
            {"routes": form.routes(), "overwrite": form.cleaned_data["overwrite"]},
        ),
    )
    if request.method != "POST":
        return sheet.show(request, LoadDraft())

    def take(form: LoadDraft) -> HttpResponse:
        given, by = form.cleaned_data, writes.actor(request)
        overwrite, reason = given["overwrite"], given["reason"]
        done = shipped.load(form.routes(), by, overwrite=overwrite, reason=reason)
        text = "Loaded." if done.changed else "Nothing changed: the catalog has them already."
        messages.success(request, text)
        return see_other(request, back)

    return sheet.take(request, LoadDraft(request.POST), take)


# The verb comes first: an intent may be called feedback or settings.
URLS = [
    path("feedback/intents", show, name="intents-feedback"),
    path("try/intents", try_out, name="intents-try"),
    path("settings/intents", settings, name="intents-settings"),
    path("load/intents", load, name="intents-load"),
]
