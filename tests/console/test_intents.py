"""The pages of intents: who may judge, what is learned, and that no prompt comes back."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from routeradmin.engine.intents import Decision
from routeradmin.journal.models import IntentFeedback, Turn
from routeradmin.services import changes
from routeradmin.services.publishing import moment
from routeradmin.services.runtime import Runtime
from tests import factories as make
from tests.console.conftest import BY, install
from tests.console.test_forms import entry, filled

TEXT = "please untangle   my shoelaces"


@pytest.fixture
def intents(runtime: Runtime) -> Runtime:
    """Two intents that are told apart by keywords, and one recorded decision."""
    install(
        make.catalog(
            intents=[
                {"id": "talk", "route_id": "chat", "keywords": ["hello"]},
                {"id": "code", "route_id": "chat", "keywords": ["traceback"], "examples": ["x"]},
            ],
            defaults={"intents": {"enabled": True, "default_id": "talk"}},
        )
    )
    decision = Decision("keyword", "talk", "chat", 1.0, keyword="hello").as_json()
    Turn.objects.create(
        uid="t/1", route="chat", started_at=moment(runtime), routing={"intent": decision}
    )
    Turn.objects.create(uid="t2", route="chat", started_at=moment(runtime))
    return runtime


def test_decisions_are_listed_and_other_turns_are_not(intents: Runtime, as_viewer: Client) -> None:
    page = as_viewer.get("/feedback/intents").content.decode()
    assert 'href="/turns/t/1"' in page
    assert "/turns/t2" not in page
    assert "you need the role <b>Operator</b>" in page


def test_a_right_decision_takes_one_press(intents: Runtime, as_operator: Client) -> None:
    page = as_operator.get("/feedback/intents").content.decode()
    assert re.search(r'<button class="tight" name="right" value="talk"', page)
    answer = as_operator.post("/feedback/intents", {"turn": "t/1", "right": "talk"})
    assert answer["Location"] == "/feedback/intents"
    row = IntentFeedback.objects.get()
    assert (row.decided, row.right, row.tier, row.turn) == ("talk", "talk", "keyword", "t/1")
    after = as_operator.get("/feedback/intents").content.decode()
    assert "talk was right." in after
    assert 'name="right" value="talk"' not in after


def test_a_wrong_decision_is_judged_with_its_turn_before_one(
    intents: Runtime, as_operator: Client
) -> None:
    page = as_operator.get("/feedback/intents?turn=t/1").content.decode()
    assert "was taken for <b>talk</b>" in page
    assert 'name="decided"' not in page
    as_operator.post("/feedback/intents", {"turn": "t/1", "right": "code"})
    found = as_operator.get("/feedback/intents").context
    assert (found["found"]["judged"], found["found"]["wrong"]) == (1, 1)
    ((name, squares),) = found["table"]
    assert (name, squares[0].right, squares[0].count, squares[0].hit) == ("talk", "code", 1, False)


def test_the_text_becomes_an_example_and_is_shown_by_the_catalog_alone(
    intents: Runtime, as_admin: Client
) -> None:
    given = {"turn": "t/1", "right": "code", "text": TEXT, "add_example": "on"}
    assert as_admin.post("/feedback/intents", given).status_code == 303
    assert entry(intents, "intents", "code").examples == ("x", " ".join(TEXT.split()))
    for address in ("/feedback/intents", "/turns/t/1", "/try/intents"):
        assert "shoelaces" not in as_admin.get(address).content.decode(), address


def test_an_operator_judges_and_teaches_nothing(intents: Runtime, as_operator: Client) -> None:
    page = as_operator.get("/feedback/intents").content.decode()
    assert 'name="add_example"' not in page
    given = {"turn": "t/1", "right": "code", "text": TEXT, "add_example": "on"}
    as_operator.post("/feedback/intents", given)
    assert entry(intents, "intents", "code").examples == ("x",)
    assert not IntentFeedback.objects.get().example_added


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"right": "code"}, "This field is required."),
        ({"right": "nosuch", "decided": "talk"}, "not one of the available choices"),
        ({"right": "code", "turn": "gone"}, "gone"),
        ({"right": "code", "decided": "talk", "add_example": "on"}, "prompts are not recorded"),
    ],
)
def test_a_judgement_that_says_too_little_is_refused(
    intents: Runtime, as_admin: Client, given: dict[str, str], told: str
) -> None:
    answer = as_admin.post("/feedback/intents", given)
    assert answer.status_code == 422
    assert told in answer.content.decode()
    assert not IntentFeedback.objects.exists()


def test_a_viewer_may_neither_judge_nor_try(intents: Runtime, as_viewer: Client) -> None:
    judged = as_viewer.post("/feedback/intents", {"turn": "t/1", "right": "talk"})
    assert judged.status_code == 403
    assert as_viewer.post("/try/intents", {"text": "hello"}).status_code == 403
    assert as_viewer.post("/load/intents", {"routes__coding": "chat"}).status_code == 403


def test_a_text_is_tried_and_can_be_judged_at_once(intents: Runtime, as_operator: Client) -> None:
    page = as_operator.post("/try/intents", {"text": "a Traceback again"}).content.decode()
    assert "The keyword “traceback” decided." in page
    assert 'href="/intents/code"' in page
    assert re.search(r'<option value="code" selected', page)
    assert as_operator.post("/try/intents", {"text": " "}).status_code == 422
    assert not Turn.objects.filter(route="auto").exists()


def test_trying_tells_where_intents_are_off(catalog: Runtime, as_admin: Client) -> None:
    page = as_admin.post("/try/intents", {"text": "hello", "has_image": "on"}).content.decode()
    assert "auto does not go by intents now" in page


def test_settings_that_are_saved_unchanged_change_nothing(
    intents: Runtime, as_admin: Client
) -> None:
    address = "/settings/intents"
    answer = as_admin.post(address, filled(as_admin, address))
    assert answer["Location"] == "/intents"
    assert intents.current.revision == 1


def settings_of(runtime: Runtime) -> Any:
    return runtime.current.document.defaults.intents


def test_settings_are_saved_and_an_empty_field_takes_its_default(
    intents: Runtime, as_admin: Client
) -> None:
    address = "/settings/intents"
    given = filled(as_admin, address)
    changed = {"intents__threshold": "0.4", "intents__embedder": "wordllama"}
    as_admin.post(address, given | changed | {"intents__reflexes": ["card"]})
    found = settings_of(intents)
    assert (found.threshold, found.embedder, found.reflexes) == (0.4, "wordllama", ("card",))
    assert found.enabled
    cleared = filled(as_admin, address) | {"intents__threshold": "", "intents__default_id": ""}
    as_admin.post(address, cleared)
    assert settings_of(intents).threshold is None
    assert settings_of(intents).default_id == "fast"


def test_a_setting_out_of_range_is_refused_beside_its_field(
    intents: Runtime, as_admin: Client
) -> None:
    address = "/settings/intents"
    wrong = {"intents__threshold": "7", "intents__classifier": "auto"}
    answer = as_admin.post(address, filled(as_admin, address) | wrong)
    page = answer.content.decode()
    assert answer.status_code == 422
    for name in wrong:
        field = page[page.index(f'id="{name}-field"') :]
        assert "errorlist" in field[: field.index('<div class="field', 1)], name


def test_an_old_tab_of_the_settings_sees_only_what_changed(
    intents: Runtime, as_admin: Client
) -> None:
    address = "/settings/intents"
    old = filled(as_admin, address)
    changes.update_defaults({"intents": {"cache_entries": 5}}, BY, if_match="*")
    answer = as_admin.post(address, old | {"intents__threshold": "0.5"})
    assert answer.status_code == 409
    labels = [one.label for one in answer.context["differences"]]
    assert labels == ["Entries"]
    page = answer.content.decode()
    assert re.search(r'name="intents__threshold" value="0.5"', page)
    assert re.search(r'name="intents__cache_entries" value="5"', page)


def test_the_shipped_intents_are_loaded_with_their_routes(
    catalog: Runtime, as_admin: Client
) -> None:
    page = as_admin.get("/load/intents").content.decode()
    assert 'name="routes__secure"' in page
    answer = as_admin.post("/load/intents", {"routes__coding": "chat", "reason": "try"})
    assert answer["Location"] == "/intents"
    assert len(entry(catalog, "intents", "coding").examples) > 20
    assert "The catalog has it already." in as_admin.get("/load/intents").content.decode()


def test_loading_nothing_or_to_no_route_is_refused(catalog: Runtime, as_admin: Client) -> None:
    for given in ({}, {"routes__coding": "nosuch"}):
        answer = as_admin.post("/load/intents", given)
        assert answer.status_code == 422
    assert "Choose the route of at least one" in as_admin.post("/load/intents").content.decode()
    assert catalog.current.revision == 1


def test_a_route_lists_its_rules_in_order_with_the_way_to_change_them(
    catalog: Runtime, as_admin: Client
) -> None:
    rule = {"route_id": "chat", "only": ["near/by"], "when": {"tools": True}}
    changes.create("rules", {"id": "early", "position": 0, **rule}, BY)
    changes.create("rules", {"id": "late", "position": 7, **rule}, BY)
    changes.update("routes", "chat", {"affinity_ttl_s": 3600}, BY, if_match="*")
    page = as_admin.get("/routes/chat").content.decode()
    places = [page.index(f'href="/edit/rules/{uid}"') for uid in ("early", "night", "late")]
    assert places == sorted(places)
    assert "for 1 h" in page
    link = '/new/rules?route_id=chat&amp;position=8"'
    assert link in page
    form = as_admin.get("/new/rules?route_id=chat&position=8").content.decode()
    assert re.search(r'<option value="chat" selected', form)
    assert re.search(r'name="position" value="8"', form)
