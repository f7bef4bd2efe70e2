"""What ``auto`` may mean, the routes that serve it, and what people said of decisions."""

from __future__ import annotations

from typing import Any

from asgiref.sync import async_to_sync
from django.http import HttpRequest, HttpResponse
from ninja import Router
from pydantic import BaseModel, Field

from routeradmin.api.access import acting, actor, reading, writing
from routeradmin.api.access import reason as reason_of
from routeradmin.api.answers import answer, utc
from routeradmin.api.crud import router_of
from routeradmin.api.nouns import Noun
from routeradmin.catalog.document import Intent
from routeradmin.catalog.fields import Ident
from routeradmin.catalog.table import Table
from routeradmin.journal.models import IntentFeedback
from routeradmin.services import runtime as runtimes
from routeradmin.services.intent import feedback, shipped, trying
from routeradmin.services.intent.feedback import Judgement

MOST_CHARS = 1_000_000
INTENTS = Noun("intents", "intent", Intent)
actions = Router(tags=["intents"], by_alias=True)


class JudgementBody(Table):
    """``right`` is what it should have been; ``turn`` or ``decided`` say what it was taken for."""

    right: Ident
    turn: str = Field("", max_length=64)
    decided: str = Field("", max_length=256)
    text: str = Field("", max_length=MOST_CHARS, repr=False)
    add_example: bool = False


class JudgementView(BaseModel):
    at: str
    by: str
    turn: str | None
    decided: str
    right: str
    tier: str | None
    confidence: float | None
    example_added: bool


class JudgementsView(BaseModel):
    items: list[JudgementView]


class ConfusionView(BaseModel):
    """``cells``: pairs of decided and right with their count; ``decisions``: by tier, intent."""

    intents: list[str]
    cells: list[dict[str, Any]]
    judged: int
    wrong: int
    decisions: list[dict[str, Any]]
    cache: dict[str, Any]


class LoadBody(Table):
    """``routes``: intent id to route id, for each shipped intent that is wanted."""

    routes: dict[str, Ident]
    overwrite: bool = False


class LoadView(BaseModel):
    diff: dict[str, Any]
    revision: int
    changed: bool


class TryBody(Table):
    text: str = Field(max_length=MOST_CHARS, repr=False)
    has_image: bool = False


class DecisionView(BaseModel):
    """What the text was taken for and why; ``enabled`` tells whether ``auto`` goes by it now."""

    enabled: bool
    intent: str | None
    tier: str
    route_id: str | None
    confidence: float | None
    local_only: bool
    signs: list[str]
    keyword: str | None
    embedder: str
    threshold: float | None
    similar: list[dict[str, Any]]
    cache: str
    cache_similarity: float | None
    classifier: str | None
    problem: str | None


@actions.post(
    "/feedback", response={201: JudgementView}, auth=writing, summary="Say what was right"
)
def judge_decision(request: HttpRequest, body: JudgementBody) -> HttpResponse:
    """Marks a decision wrong (or right), and with ``add_example`` teaches the intent its text."""
    said = Judgement(**body.model_dump())
    return answer(request, _shown(feedback.judge(said, actor(request))), status=201)


@actions.get("/feedback", response=JudgementsView, auth=reading, summary="List what was said")
def list_judgements(request: HttpRequest) -> HttpResponse:
    """The newest hundred."""
    return answer(request, {"items": [_shown(row) for row in feedback.recent()]})


@actions.get("/confusion", response=ConfusionView, auth=reading, summary="Get the confusion table")
def get_confusion(request: HttpRequest, days: float = 90) -> HttpResponse:
    return answer(request, feedback.confusion(max(0.0, min(days, 36_500.0))))


@actions.post("/defaults", response=LoadView, auth=writing, summary="Load the shipped intents")
def load_shipped(request: HttpRequest, body: LoadBody) -> HttpResponse:
    done = shipped.load(
        body.routes, actor(request), overwrite=body.overwrite, reason=reason_of(request)
    )
    found = {"diff": done.diff.as_json(), "revision": done.revision, "changed": done.changed}
    return answer(request, found)


@actions.post("/classify", response=DecisionView, auth=acting, summary="Try a text")
def classify_text(request: HttpRequest, body: TryBody) -> HttpResponse:
    """Nothing of it is kept; a configured classifier may be asked, which may be billed."""
    decide = async_to_sync(trying.try_out)
    return answer(request, decide(runtimes.get(), body.text, has_image=body.has_image))


def _shown(row: IntentFeedback) -> dict[str, Any]:
    return {
        "at": utc(row.at),
        "by": row.by,
        "turn": row.turn or None,
        "decided": row.decided,
        "right": row.right,
        "tier": row.tier or None,
        "confidence": row.confidence,
        "example_added": row.example_added,
    }


router = router_of(INTENTS, actions)
