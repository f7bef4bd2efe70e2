"""Forms: what is refused stays typed, what others changed is shown, what is untouched stays."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from django.test import Client

from routeradmin.catalog.models import Secret
from routeradmin.console.urls import NOUNS
from routeradmin.services import changes
from routeradmin.services.runtime import Runtime
from tests import factories as make
from tests.console.conftest import BY, install
from tests.console.test_pages import IDS


def answered(browser: Client, address: str) -> dict[str, Any]:
    """What a browser would send for a question as it was shown."""
    return filled(browser, address, "question")


def filled(browser: Client, address: str, name: str = "draft") -> dict[str, Any]:
    """What a browser would send for the form as it was shown."""
    page = browser.get(address).content.decode()
    start = page.index(f'id="{name}"')
    form = page[start : page.index("</form>", start)]
    values: dict[str, Any] = {}
    for tag in re.findall(r"<input[^>]*>", form):
        attributes = dict(re.findall(r'([\w-]+)="([^"]*)"', tag))
        if "name" not in attributes or attributes["name"] == "csrfmiddlewaretoken":
            continue
        if attributes.get("type") in ("checkbox", "radio") and " checked" not in tag:
            continue
        value = html.unescape(attributes.get("value", "on" if "checked" in tag else ""))
        values.setdefault(attributes["name"], []).append(value)
    for name, body in re.findall(r'<select name="([^"]+)"[^>]*>(.*?)</select>', form, re.S):
        chosen = re.findall(r'<option value="([^"]*)" ?selected', body)
        first = re.findall(r'<option value="([^"]*)"', body)
        values.setdefault(name, []).append(html.unescape((chosen or first)[0]))
    for name, body in re.findall(r'<textarea name="([^"]+)"[^>]*>(.*?)</textarea>', form, re.S):
        values.setdefault(name, []).append(html.unescape(body.removeprefix("\n")))
    return values


def entry(runtime: Runtime, kind: str, uid: str) -> Any:
    return next(one for one in getattr(runtime.current.document, kind) if one.id == uid)


@pytest.mark.parametrize("noun", NOUNS, ids=lambda noun: noun.slug)
def test_saving_a_form_unchanged_changes_nothing(
    catalog: Runtime, as_admin: Client, noun: Any
) -> None:
    address = noun.url(IDS[noun.slug], "edit")
    answer = as_admin.post(address, filled(as_admin, address))
    assert answer.status_code == 303, answer.content.decode()
    assert catalog.current.revision == 1


@pytest.mark.parametrize("noun", NOUNS, ids=lambda noun: noun.slug)
def test_saving_a_full_object_unchanged_changes_nothing(
    runtime: Runtime, as_admin: Client, noun: Any
) -> None:
    install(make.full_catalog())
    for one in noun.entries_of(runtime.current.document):
        address = noun.url(getattr(one, noun.key), "edit")
        answer = as_admin.post(address, filled(as_admin, address))
        assert answer.status_code == 303, answer.content.decode()
    assert runtime.current.revision == 1


def odd_catalog() -> dict[str, Any]:
    """What files and the API accept, and a form's text could be read as something else."""
    words = ["hello, world", 'say "hi"', '"quoted"', "a=b", "twice", "twice"]
    values = make.full_catalog()

    def odd(table: str, **fields: Any) -> None:
        values[table][0] |= fields

    odd("providers", tags=words, kind="of-its-own", name="<b>&amp;, x")
    odd("accounts", tags=words)
    odd("endpoints", ca_file="/etc/with space at its end ", headers={"x-a": "b: c, d", "x-e": ""})
    capabilities = {"reasoning_efforts": [" low", "high, higher", " "]}
    odd("serving_models", tags=words, capabilities=capabilities, input_price=1e-7)
    odd("routes", tags=words, alias="chat, more", strategy="custom:of,mine")
    values["aliases"][0]["target"] = "chat, more"
    odd("aliases", name="talk, talk")
    values["aliases"][1]["target"] = "talk, talk"
    listed = {"general": ["any", "any"], "content_policy": []}
    classify = [
        {"contains": 'a, "b"\u00e9', "class": "transient"},
        {"status": 529, "class": "quota"},
    ]
    odd("policies", fallback=listed, classify=classify)
    when = {"tags": words, "key": ["key, one", "key_2"], "hours": ["22:00-06:00", "07:00-08:00"]}
    odd("rules", when=when | {"header": {"x-a": "b: c, d", "x-b": ""}})
    odd("intents", keywords=words, examples=["one, two", '"three"'], description="a, b")
    values["defaults"] |= {"auto_priority": ["chat, more", "talk, talk"]}
    return values


@pytest.mark.parametrize("noun", NOUNS, ids=lambda noun: noun.slug)
def test_saving_odd_values_unchanged_changes_nothing(
    runtime: Runtime, as_admin: Client, noun: Any
) -> None:
    install(odd_catalog())
    for one in noun.entries_of(runtime.current.document):
        address = noun.url(getattr(one, noun.key), "edit")
        answer = as_admin.post(address, filled(as_admin, address))
        assert answer.status_code == 303, answer.content.decode()
    assert runtime.current.revision == 1


def test_a_list_of_odd_words_keeps_them_when_another_is_added(
    runtime: Runtime, as_admin: Client
) -> None:
    install(odd_catalog())
    before = entry(runtime, "intents", "code").keywords
    address = "/edit/intents/code"
    shown = filled(as_admin, address)
    typed = f'{shown["keywords"][0]}, new, "one, more"'
    assert as_admin.post(address, shown | {"keywords": typed}).status_code == 303
    assert entry(runtime, "intents", "code").keywords == (*before, "new", "one, more")
    answer = as_admin.post(address, filled(as_admin, address) | {"keywords": '"open'})
    assert answer.status_code == 422
    assert "Close the quotes" in answer.content.decode()


@pytest.mark.parametrize("address", ["/defaults", "/settings/intents"])
def test_saving_odd_defaults_unchanged_changes_nothing(
    runtime: Runtime, as_admin: Client, address: str
) -> None:
    install(odd_catalog())
    assert as_admin.post(address, filled(as_admin, address)).status_code == 303
    assert runtime.current.revision == 1


def test_a_new_object_is_in_force_when_the_answer_comes(catalog: Runtime, as_admin: Client) -> None:
    given = {"id": "lab", "category": "lab", "kind": "ollama", "admin_state": "enabled"}
    answer = as_admin.post("/new/providers", {**given, "tags": "a, b", "reason": "trial"})
    assert answer["Location"] == "/providers/lab"
    assert entry(catalog, "providers", "lab").tags == ("a", "b")
    assert "trial" in as_admin.get("/providers/lab").content.decode()


def test_a_refused_form_answers_422_and_keeps_what_was_typed(
    catalog: Runtime, as_admin: Client
) -> None:
    given = {"id": "has space", "category": "typed-category", "kind": "ollama"}
    answer = as_admin.post("/new/providers", {**given, "admin_state": "enabled"})
    page = answer.content.decode()
    assert answer.status_code == 422
    assert "typed-category" in page
    assert 'aria-invalid="true"' in page
    assert catalog.current.revision == 1


def test_a_taken_id_is_told_beside_the_id(catalog: Runtime, as_admin: Client) -> None:
    given = {"id": "acme", "category": "x", "kind": "ollama", "admin_state": "enabled"}
    answer = as_admin.post("/new/providers", given)
    assert answer.status_code == 422
    assert "exists among the providers already" in html.unescape(answer.content.decode())


def test_a_name_that_an_alias_has_is_told_beside_the_new_routes_alias(
    catalog: Runtime, as_admin: Client
) -> None:
    given = {"id": "new", "alias": "gpt é/ä", "when_exhausted": "fail", "admin_state": "enabled"}
    given |= {"targets-id": "", "targets-tier": "1", "targets-deployment": "near/by"}
    answer = as_admin.post("/new/routes", given)
    assert answer.status_code == 422
    assert answer.context["form"].errors["alias"]


def test_htmx_gets_the_form_alone(catalog: Runtime, as_admin: Client) -> None:
    answer = as_admin.post("/new/providers", {"id": ""}, headers={"HX-Request": "true"})
    page = answer.content.decode()
    assert answer.status_code == 422
    assert page.lstrip().startswith("<form")
    assert "HX-Request" in answer["Vary"]


def test_htmx_is_sent_on_after_a_save(catalog: Runtime, as_admin: Client) -> None:
    given = filled(as_admin, "/edit/providers/local") | {"category": "new"}
    answer = as_admin.post("/edit/providers/local", given, headers={"HX-Request": "true"})
    assert answer["HX-Redirect"] == "/providers/local"


def test_an_old_tab_does_not_undo_a_newer_save(catalog: Runtime, as_admin: Client) -> None:
    address = "/edit/deployments/near/by"
    first, second = filled(as_admin, address), filled(as_admin, address)
    assert as_admin.post(address, first | {"weight": "6"}).status_code == 303
    answer = as_admin.post(address, second | {"priority": "2", "reason": "why not"})
    page = answer.content.decode()
    assert answer.status_code == 409
    assert "was changed while you were editing" in page
    assert re.search(r'name="priority" value="2"', page)
    assert "why not" in page
    saved = entry(catalog, "serving_models", "near/by")
    assert (saved.weight, saved.priority) == (6, 0)
    assert re.search(r'class="theirs">6<', page)
    # What the page now shows can be saved: both changes are kept.
    again = filled_from(page)
    assert as_admin.post(address, again).status_code == 303
    saved = entry(catalog, "serving_models", "near/by")
    assert (saved.weight, saved.priority) == (6, 2)


def filled_from(page: str) -> dict[str, Any]:
    class Shown:
        def get(self, address: str) -> Any:
            return type("Answer", (), {"content": page.encode()})

    return filled(Shown(), "")  # type: ignore[arg-type]


def test_a_conflict_on_the_same_field_shows_both_values(catalog: Runtime, as_admin: Client) -> None:
    address = "/edit/deployments/near/by"
    given = filled(as_admin, address)
    changes.update("deployments", "near/by", {"weight": 7}, BY, if_match="*")
    page = as_admin.post(address, given | {"weight": "8"}).content.decode()
    assert re.search(r'class="theirs">7<', page)
    assert re.search(r'class="mine">8<', page)
    assert re.search(r'name="weight" value="8"', page)


def test_a_form_without_its_version_is_refused_as_stale(catalog: Runtime, as_admin: Client) -> None:
    given = filled(as_admin, "/edit/providers/local") | {"version": "", "category": "new"}
    assert as_admin.post("/edit/providers/local", given).status_code == 409


def test_a_secret_is_never_shown_and_survives_other_edits(
    catalog: Runtime, as_admin: Client
) -> None:
    secret = "sk-live-0123456789abcdef"
    given = {
        "id": "own",
        "provider_id": "acme",
        "auth_kind": "bearer",
        "billing_kind": "metered",
        "admin_state": "enabled",
        "secret": secret,
    }
    assert as_admin.post("/new/credentials", given).status_code == 303
    before = Secret.objects.get(reference="own").ciphertext
    address = "/edit/credentials/own"
    assert as_admin.post(address, filled(as_admin, address) | {"name": "N"}).status_code == 303
    assert Secret.objects.get(reference="own").ciphertext == before
    for page in (address, "/credentials/own", "/credentials", "/audit", "/secret/credentials/own"):
        assert secret[:8] not in as_admin.get(page).content.decode(), page


def test_a_typed_secret_is_not_sent_back_with_a_refusal(catalog: Runtime, as_admin: Client) -> None:
    given = {
        "id": "bad id",
        "provider_id": "acme",
        "auth_kind": "bearer",
        "billing_kind": "metered",
        "admin_state": "enabled",
        "secret": "sk-typed-0123456789",
    }
    answer = as_admin.post("/new/credentials", given)
    assert answer.status_code == 422
    assert "sk-typed" not in answer.content.decode()


def test_a_secret_is_replaced_by_its_own_form(catalog: Runtime, as_admin: Client) -> None:
    given = {
        "id": "own",
        "provider_id": "acme",
        "auth_kind": "bearer",
        "billing_kind": "metered",
        "admin_state": "enabled",
        "secret": "sk-first-0123456789",
    }
    as_admin.post("/new/credentials", given)
    mark = Secret.objects.get(reference="own").fingerprint
    assert (
        as_admin.post("/secret/credentials/own", {"secret": "sk-next-0123456789"}).status_code
        == 303
    )
    changed = Secret.objects.get(reference="own").fingerprint
    assert changed != mark
    assert changed in as_admin.get("/credentials/own").content.decode()
    assert as_admin.post("/secret/credentials/own", {"secret": ""}).status_code == 422


def test_equal_numbers_are_one_tier_and_gaps_are_closed(catalog: Runtime, as_admin: Client) -> None:
    given = filled(as_admin, "/edit/routes/chat")
    given |= {
        "targets-id": ["chat-1", "chat-2", ""],
        "targets-tier": ["7", "3", "3"],
        "targets-deployment": ["acme-large", "near/by", "spare"],
    }
    assert as_admin.post("/edit/routes/chat", given).status_code == 303
    places = {
        one.serving_model_id: one.position
        for one in catalog.current.document.targets
        if one.route_id == "chat"
    }
    assert places == {"near/by": 0, "spare": 0, "acme-large": 1}


def test_a_deployment_twice_in_a_route_is_told_beside_the_targets(
    catalog: Runtime, as_admin: Client
) -> None:
    given = filled(as_admin, "/edit/routes/chat")
    given |= {
        "targets-id": ["chat-1", ""],
        "targets-tier": ["1", "2"],
        "targets-deployment": ["acme-large", "acme-large"],
    }
    answer = as_admin.post("/edit/routes/chat", given)
    assert answer.status_code == 422
    assert "only once a route" in answer.content.decode()


def test_deleting_lists_all_that_goes_along_and_does_it_only_when_told(
    catalog: Runtime, as_admin: Client
) -> None:
    page = as_admin.get("/delete/providers/acme").content.decode()
    for address in ("/credentials/acme-two", "/endpoints/acme-api", "/deployments/spare"):
        assert address in page
    assert "changes: targets" in page
    address = "/delete/deployments/near/by"
    asked = answered(as_admin, address)
    assert asked.pop("cascade")
    assert as_admin.post(address, asked).status_code == 409
    answer = as_admin.post(address, answered(as_admin, address))
    assert answer["Location"] == "/deployments"
    assert all(one.id != "near/by" for one in catalog.current.document.serving_models)


def test_what_changed_since_the_question_was_shown_is_asked_again(
    catalog: Runtime, as_admin: Client
) -> None:
    address = "/delete/deployments/spare"
    asked = answered(as_admin, address) | {"reason": "not needed"}
    changes.update("models", "large", {"name": "L"}, BY, if_match="*")
    answer = as_admin.post(address, asked)
    assert answer.status_code == 409
    assert 'value="not needed"' in answer.content.decode()


def test_htmx_gets_the_question_alone(catalog: Runtime, as_admin: Client) -> None:
    answer = as_admin.get("/delete/routes/chat", headers={"HX-Request": "true"})
    page = answer.content.decode()
    assert page.lstrip().startswith("<form")
    assert "requests for it are refused" in page
    assert "/aliases/gpt" in page


def test_a_clone_starts_from_the_settings_without_id_and_secret(
    catalog: Runtime, as_admin: Client
) -> None:
    page = as_admin.get("/new/credentials?clone=acme-key").content.decode()
    assert 'value="acme" selected' in page
    assert "ROUTERADMIN_NO_SUCH_SECRET" not in page
    assert as_admin.get("/new/routes?clone=chat").status_code == 200


def test_a_probe_of_ones_own_can_be_set_and_taken_back(catalog: Runtime, as_admin: Client) -> None:
    address = "/edit/deployments/near/by"
    assert (
        as_admin.post(address, filled(as_admin, address) | {"probe__mode": "models"}).status_code
        == 303
    )
    assert entry(catalog, "serving_models", "near/by").probe.mode == "models"
    assert (
        as_admin.post(address, filled(as_admin, address) | {"probe__mode": ""}).status_code == 303
    )
    assert entry(catalog, "serving_models", "near/by").probe is None


def test_the_catalog_s_defaults_are_edited_like_an_object(
    catalog: Runtime, as_admin: Client
) -> None:
    shown = filled(as_admin, "/defaults")
    assert as_admin.post("/defaults", shown).status_code == 303
    assert catalog.current.revision == 1
    given = shown | {"strategy": "least_busy", "policy_id": "calm", "auto_priority": "chat"}
    assert as_admin.post("/defaults", given).status_code == 303
    assert catalog.current.document.defaults.strategy == "least_busy"
    assert as_admin.post("/defaults", shown | {"strategy": "fill_first"}).status_code == 409
    assert as_admin.post("/defaults", {"policy_id": "none"}).status_code == 422


def test_a_route_shows_what_it_would_do_before_it_is_saved(
    catalog: Runtime, as_admin: Client
) -> None:
    given = filled(as_admin, "/edit/routes/chat")
    given |= {
        "targets-id": ["chat-1", "chat-2"],
        "targets-tier": ["2", "1"],
        "targets-deployment": ["acme-large", "near/by"],
        "do": "preview",
    }
    answer = as_admin.post("/edit/routes/chat", given)
    page = answer.content.decode()
    assert answer.status_code == 200
    assert re.search(r"100\.0 %</b><span class=\"of\">near/by/open<", page)
    assert catalog.current.revision == 1
    fresh = {"id": "new", "alias": "new", "when_exhausted": "fail", "admin_state": "enabled"}
    fresh |= {"targets-id": [""], "targets-tier": ["1"], "targets-deployment": ["near/by"]}
    answer = as_admin.post("/new/routes", fresh | {"do": "preview"})
    assert answer.status_code == 200
    assert "near/by/open" in answer.content.decode()
    taken = as_admin.post("/new/routes", fresh | {"do": "preview", "alias": "gpt é/ä"})
    assert taken.status_code == 422
    assert catalog.current.revision == 1


def test_targets_are_moved_removed_and_added_by_plain_buttons(
    catalog: Runtime, as_admin: Client
) -> None:
    """What the page's script does at once, the server does for a browser without it."""
    address = "/edit/routes/chat"
    given = filled(as_admin, address) | {"name": "typed"}
    rows = {name: given.pop(f"targets-{name}") for name in ("id", "tier", "deployment")}

    def pressed(button: str) -> list[tuple[str, str, str]]:
        sent = {f"targets-{name}": values for name, values in rows.items()}
        answer = as_admin.post(address, given | sent | {"targets-do": button})
        page = answer.content.decode()
        assert answer.status_code == 200
        assert 'name="name" value="typed"' in page
        assert 'role="alert"' not in page
        shown = filled_from(page)
        rows.update({name: shown[f"targets-{name}"] for name in rows})
        return [row for row in zip(*rows.values(), strict=True) if row[2]]

    assert pressed("later:0") == [("chat-1", "2", "acme-large"), ("chat-2", "2", "near/by")]
    assert pressed("earlier:1") == [("chat-2", "1", "near/by"), ("chat-1", "2", "acme-large")]
    rows["deployment"][2] = "spare"
    assert pressed("add")[-1] == ("", "3", "spare")
    assert pressed("remove:1") == [("chat-2", "1", "near/by"), ("", "3", "spare")]
    assert "".join(rows["deployment"][2:]) == ""
    assert len(rows["deployment"]) == 5
    assert pressed("later:99")[0] == ("chat-2", "1", "near/by")
    assert catalog.current.revision == 1
    sent = {f"targets-{name}": values for name, values in rows.items()}
    assert as_admin.post(address, given | sent).status_code == 303
    targets = changes.values_of(catalog.current.document, "routes", "chat")["targets"]
    assert [(one["serving_model_id"], one["position"]) for one in targets] == [
        ("near/by", 0),
        ("spare", 1),
    ]


def test_a_tier_that_is_no_number_is_told_beside_the_targets(
    catalog: Runtime, as_admin: Client
) -> None:
    given = filled(as_admin, "/edit/routes/chat")
    given |= {"targets-id": ["chat-1", "chat-2"], "targets-deployment": ["acme-large", "near/by"]}
    for typed in ("x", "9" * 5000):  # more digits than a number may have
        answer = as_admin.post("/edit/routes/chat", given | {"targets-tier": [typed, "²"]})
        assert answer.status_code == 422
        assert "A tier is a whole number" in answer.content.decode()


def test_what_a_save_was_warned_of_is_told_on_the_next_page(
    catalog: Runtime, as_admin: Client
) -> None:
    given = filled(as_admin, "/edit/routes/chat")
    given.pop("fallback_enabled")
    answer = as_admin.post("/edit/routes/chat", given, follow=True)
    assert "Saved, and worth a look:" in answer.content.decode()


def test_what_was_deleted_while_it_was_edited_is_told_and_nothing_typed_is_lost(
    catalog: Runtime, as_admin: Client
) -> None:
    given = filled(as_admin, "/edit/deployments/spare") | {"weight": "77"}
    changes.delete("deployments", "spare", BY, if_match="*")
    for do in ("", "preview", "check"):
        answer = as_admin.post("/edit/deployments/spare", given | {"do": do})
        page = answer.content.decode()
        assert answer.status_code == (200 if do == "check" else 422)
        assert "spare was deleted meanwhile" in page
        assert 'name="weight" value="77"' in page
    assert as_admin.get("/edit/deployments/spare").status_code == 404
