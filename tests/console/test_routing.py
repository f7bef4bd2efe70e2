"""What had a say beside the route is told in words, from what turns and explanations hold."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from routeradmin.console import routing
from routeradmin.engine.intents import Decision, Similar
from routeradmin.journal.models import Turn
from routeradmin.services.publishing import moment
from routeradmin.services.runtime import Runtime
from tests.console.conftest import SCRIPT

NEAR = (Similar("talk", 4, 0.71), Similar("code", 0, 0.2))
DECISIONS = (
    (
        Decision("reflex", "safe", "home", 1.0, True, signs=("email", "key")),
        ["A reflex decided", "an e-mail address and an API key", "tagged local", "route home"],
    ),
    (Decision("keyword", "talk", "chat", 1.0, keyword="chatty"), ["“chatty” decided"]),
    (Decision("cache", "talk", "chat", 0.8, cache="exact"), ["the same text was judged before"]),
    (
        Decision("cache", "talk", "chat", 0.8, cache="similar", cache_similarity=0.97),
        ["a text of similarity 0.97"],
    ),
    (
        Decision("semantic", "talk", "chat", 0.71, threshold=0.3, similar=NEAR, cache="miss"),
        ["0.71 of at least 0.3", "talk 0.71 (example 5), code 0.2 (example 1)"],
    ),
    (
        Decision("classifier", "talk", "chat", 0.9, classifier="answered", cache="miss"),
        ["The classifier decided, 90% sure"],
    ),
    (
        Decision("default", "talk", "chat", classifier="timed out", problem="not installed"),
        ["the intent of last resort", "Classifier: timed out.", "not installed"],
    ),
    (Decision("none"), ["the order for auto came next"]),
)


@pytest.mark.parametrize(("decision", "told"), DECISIONS, ids=[one[0].tier for one in DECISIONS])
def test_a_decision_says_which_tier_made_it_and_from_what(
    decision: Decision, told: list[str]
) -> None:
    text = " ".join(routing.decision(decision.as_json()).lines)
    for words in told:
        assert words in text


@pytest.mark.parametrize(
    ("found", "told"),
    [
        ({"rule": {"id": "night", "only": ["a", "b"]}}, "It left only a, b."),
        ({"preferences": {"asked": {"order": ["x", "y"]}, "dropped": []}}, "First: x, y."),
        ({"preferences": {"asked": {"allow_fallbacks": False}}}, "Nothing beyond those."),
        (
            {"preferences": {"asked": {}, "dropped": [{"word": "only", "name": "z", "why": "no"}]}},
            "Dropped: only z no.",
        ),
        ({"affinity": {"source": "session", "bound_to": None}}, "Nothing is bound to it"),
        (
            {"affinity": {"source": "session", "bound_to": "a/k", "kept": True}},
            "It stayed with a/k",
        ),
        (
            {"affinity": {"bound_to": "a/k", "kept": False, "why": ["cooldown", "gone"]}},
            "not used: cooldown; it is no target of the route any more.",
        ),
        (
            {"affinity": {"bound_to": "a/k", "before": "b/k", "returned": True, "why": []}},
            "It returned to b/k",
        ),
        ({"selector": {"strategy": "custom:x", "note": "it raised KeyError"}}, "it raised KeyErr"),
    ],
)
def test_each_part_has_its_words(found: dict[str, Any], told: str) -> None:
    (part,) = routing.told(found)
    assert told in " ".join(part.lines)


def test_where_the_route_alone_chose_nothing_is_told() -> None:
    assert routing.told(None) == []
    assert routing.told({"intent": None, "halt": "succeeded"}) == []


def test_a_turn_shows_what_had_a_say_as_text(catalog: Runtime, as_viewer: Client) -> None:
    decision = Decision("keyword", "talk", "chat", 1.0, keyword=SCRIPT).as_json()
    rule = {"id": "night", "only": ["near/by"]}
    Turn.objects.create(
        uid="t1",
        route="chat",
        halt="succeeded",
        started_at=moment(catalog),
        routing={"intent": decision, "rule": rule},
    )
    page = as_viewer.get("/turns/t1").content.decode()
    assert "What else had a say" in page
    assert 'href="/intents/talk"' in page
    assert 'href="/rules/night"' in page
    assert SCRIPT not in page


def test_explain_tells_the_rule_and_the_intent(catalog: Runtime, as_viewer: Client) -> None:
    page = as_viewer.get("/explain?model=chat&tags=batch&draws=10").content.decode()
    assert "It left only near/by." in page
    plain = as_viewer.get("/explain?model=chat").content.decode()
    assert "What else had a say" not in plain
