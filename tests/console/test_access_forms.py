"""API keys and users through their forms."""

from __future__ import annotations

import html
import json
import re
from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import Client

from routeradmin.access.models import ApiKey, User
from routeradmin.journal.models import AuditEntry
from routeradmin.services import changes
from routeradmin.services.publishing import moment
from routeradmin.services.runtime import Runtime
from tests import factories as make
from tests.console.conftest import BY
from tests.console.test_forms import answered, filled

STRONG = "a long and winding phrase"


def test_a_key_is_shown_once(catalog: Runtime, as_admin: Client) -> None:
    answer = as_admin.post(
        "/new/keys", {"name": "ci", "scopes": ["select", "read"], "reach": "all"}
    )
    page = answer.content.decode()
    shown = re.search(r'id="new-key">(rk_[^<]+)<', page)
    assert shown
    assert catalog.keys.find(shown[1], catalog.clock()) is not None
    assert "no-store" in answer["Cache-Control"]
    row = ApiKey.objects.get()
    for address in ("/keys", f"/edit/keys/{row.uid}", "/audit"):
        assert shown[1][:8] not in as_admin.get(address).content.decode()


def test_a_key_without_scopes_is_refused(catalog: Runtime, as_admin: Client) -> None:
    answer = as_admin.post("/new/keys", {"name": "ci", "reach": "all"})
    assert answer.status_code == 422
    assert not ApiKey.objects.exists()


def test_a_key_is_changed_revoked_and_deleted(catalog: Runtime, as_admin: Client) -> None:
    given = {"name": "ci", "scopes": ["read"], "reach": "all", "expires_at": "2027-01-01T10:00"}
    as_admin.post("/new/keys", given)
    row = ApiKey.objects.get()
    address = f"/edit/keys/{row.uid}"
    given = filled(as_admin, address)
    assert as_admin.post(address, given).status_code == 303
    assert ApiKey.objects.get().version == 1
    assert as_admin.post(address, given | {"rpm_limit": "5"}).status_code == 303
    assert as_admin.post(address, given | {"rpm_limit": "6"}).status_code == 409
    assert ApiKey.objects.get().rpm_limit == 5
    for verb in ("revoke", "delete"):
        address = f"/{verb}/keys/{row.uid}"
        assert as_admin.post(address, {"version": "1"}).status_code == 409
        assert as_admin.post(address, answered(as_admin, address)).status_code == 303
        assert ApiKey.objects.filter(revoked_at__isnull=False).exists() == (verb == "revoke")
    assert not ApiKey.objects.exists()


HELD = [
    ("all", None),
    ("none", []),
    ("one that is gone", ["gone"]),
    ("a model of a provider", ["acme:acme-large"]),
    ("several in an order of their own", ["gone", "chat", "acme:acme-large", "a, b"]),
]


@pytest.mark.parametrize(("name", "routes"), HELD, ids=[name for name, _ in HELD])
def test_renaming_a_key_leaves_its_routes_alone(
    catalog: Runtime, as_admin: Client, name: str, routes: list[str] | None
) -> None:
    row, _ = changes.create_key({"name": f" {name} ", "scopes": ["read"], "routes": routes}, BY)
    address = f"/edit/keys/{row.uid}"
    assert as_admin.post(address, filled(as_admin, address)).status_code == 303
    row.refresh_from_db()
    assert row.version == 1, "saving a form unchanged changes nothing"
    assert as_admin.post(address, filled(as_admin, address) | {"name": "new"}).status_code == 303
    row.refresh_from_db()
    assert (row.name, row.routes, row.version) == ("new", routes, 2)


def test_a_route_that_is_gone_stays_ticked_after_a_refusal_and_after_a_conflict(
    catalog: Runtime, as_admin: Client
) -> None:
    fields = {"name": "ci", "scopes": ["read"], "routes": ["gone", "acme:acme-large"]}
    row, _ = changes.create_key(fields, BY)
    address = f"/edit/keys/{row.uid}"
    given = filled(as_admin, address)
    refused = as_admin.post(address, given | {"name": ""})
    changes.update_key(row.uid, {"rpm_limit": 5}, BY, if_match="*")
    conflict = as_admin.post(address, given | {"name": "new"})
    assert (refused.status_code, conflict.status_code) == (422, 409)
    for answer in (refused, conflict):
        page = html.unescape(answer.content.decode())
        assert re.search(r'value="gone"[^>]* checked', page)
        assert "gone – not in the catalog" in page
        assert "acme:acme-large – a model of acme" in page


def test_a_form_that_says_nothing_of_routes_does_not_open_all_of_them(
    catalog: Runtime, as_admin: Client
) -> None:
    assert as_admin.post("/new/keys", {"name": "ci", "scopes": ["read"]}).status_code == 422
    assert not ApiKey.objects.exists()
    fields = {"name": "ci", "scopes": ["read"], "routes": ["chat"]}
    row, _ = changes.create_key(fields, BY)
    address = f"/edit/keys/{row.uid}"
    given = filled(as_admin, address)
    without = {name: value for name, value in given.items() if name not in ("reach", "routes")}
    assert as_admin.post(address, without).status_code == 422
    assert as_admin.post(address, without | {"reach": "only"}).status_code == 303
    row.refresh_from_db()
    assert row.routes == [], "none ticked is none"


def test_routes_that_are_ticked_while_all_are_chosen_are_asked_about(
    catalog: Runtime, as_admin: Client
) -> None:
    row, _ = changes.create_key({"name": "ci", "scopes": ["read"]}, BY)
    address = f"/edit/keys/{row.uid}"
    answer = as_admin.post(address, filled(as_admin, address) | {"routes": ["chat"]})
    assert answer.status_code == 422
    assert answer.context["form"].errors["reach"]
    given = filled(as_admin, address) | {"reach": "only", "routes": ["chat"]}
    assert as_admin.post(address, given).status_code == 303
    row.refresh_from_db()
    assert row.routes == ["chat"]
    given = filled(as_admin, address) | {"reach": "all"}
    assert as_admin.post(address, given).status_code == 303
    row.refresh_from_db()
    assert row.routes is None, "boxes that were ticked before do not stand in the way"


LIMITED = {
    "name": "ci",
    "scopes": ["read"],
    "rpm_limit": 5,
    "expires_at": datetime(2027, 1, 1, tzinfo=UTC),
}
CHAT_ONLY = {"reach": "only", "routes": ["chat"]}


@pytest.mark.parametrize(
    ("routes", "typed", "told"),
    [
        (["chat"], {"reach": "all"}, "It may use every route from the next request on"),
        ([], CHAT_ONLY, "It may also use chat from the next request on."),
        (None, CHAT_ONLY, "Requests for any other route are refused from the next one on."),
        (["gone", "chat"], CHAT_ONLY, "Requests for gone are refused from the next one on."),
        (None, {"reach": "only"}, "No route is ticked: requests for any route are refused."),
        (["chat"], {"routes": []}, "No route is ticked: requests for any route are refused."),
        (None, {"scopes": ["read", "write", "admin"]}, "It may do what needs write, admin from"),
        (None, {"scopes": ["select"]}, "Calls that need read are refused from the next one on."),
        (None, {"rpm_limit": ""}, "No longer limited: Requests per minute."),
        (None, {"expires_at": ""}, "It does not expire any more."),
    ],
)
def test_what_a_key_may_from_now_on_is_told_before_it_is_saved(
    catalog: Runtime,
    as_admin: Client,
    routes: list[str] | None,
    typed: dict[str, Any],
    told: str,
) -> None:
    row, _ = changes.create_key({**LIMITED, "routes": routes}, BY)
    address = f"/edit/keys/{row.uid}"
    shown = filled(as_admin, address) | {"do": "preview"}
    page = html.unescape(as_admin.post(address, shown).content.decode())
    assert "Worth a look" not in page
    assert told in html.unescape(as_admin.post(address, shown | typed).content.decode())
    row.refresh_from_db()
    assert row.version == 1


def test_the_call_of_a_key_names_its_routes_as_the_api_takes_them(
    catalog: Runtime, as_admin: Client
) -> None:
    row, _ = changes.create_key({"name": "ci", "scopes": ["read"], "routes": ["chat"]}, BY)
    address = f"/edit/keys/{row.uid}"
    tried = filled(as_admin, address) | {"do": "preview", "reach": "all"}
    page = html.unescape(as_admin.post(address, tried).content.decode())
    assert """'{"routes": null}'""" in page
    assert "Kept in the audit log." in page
    assert "Kept with the revision" not in page, "a key makes no revision"
    new = {"name": "x", "scopes": ["read"], "reach": "only", "routes": ["chat"], "do": "preview"}
    page = html.unescape(as_admin.post("/new/keys", new).content.decode())
    assert """'{"name": "x", "scopes": ["read"], "routes": ["chat"]}'""" in page


@pytest.mark.parametrize("events", [[], ["journal.drops"]])
def test_renaming_a_webhook_leaves_the_rest_alone(
    catalog: Runtime, as_admin: Client, events: list[str]
) -> None:
    fields = {"name": " bell, door ", "url": "https://bell.example/a,b?x=1", "events": events}
    row, _ = changes.create_webhook(fields, BY)
    address = f"/edit/alerts/{row.uid}"
    assert as_admin.post(address, filled(as_admin, address)).status_code == 303
    row.refresh_from_db()
    assert row.version == 1
    assert as_admin.post(address, filled(as_admin, address) | {"name": "new"}).status_code == 303
    row.refresh_from_db()
    assert (row.name, row.url, row.events) == ("new", fields["url"], events)


def test_a_webhook_that_loses_its_last_tick_is_said_to_be_told_of_everything(
    catalog: Runtime, as_admin: Client
) -> None:
    fields = {"name": "bell", "url": "https://bell.example/", "events": ["journal.drops"]}
    row, _ = changes.create_webhook(fields, BY)
    address = f"/edit/alerts/{row.uid}"
    given = filled(as_admin, address) | {"do": "preview", "events": []}
    page = html.unescape(as_admin.post(address, given).content.decode())
    assert "None is ticked: it is told of every kind of event." in page


def test_saving_a_user_unchanged_changes_nothing(
    catalog: Runtime, as_admin: Client, operator: User
) -> None:
    address = f"/edit/users/{operator.username}"
    assert as_admin.post(address, filled(as_admin, address)).status_code == 303
    operator.refresh_from_db()
    assert (operator.role, operator.version) == ("operator", 1)


def test_saving_a_key_does_not_cut_the_seconds_off_its_expiry(
    catalog: Runtime, as_admin: Client
) -> None:
    expires_at = datetime(2027, 1, 1, 10, 0, 59, 250_000, UTC)
    fields = {"name": "ci", "scopes": ["read"], "expires_at": expires_at}
    row, _ = changes.create_key(fields, BY)
    address = f"/edit/keys/{row.uid}"
    shown = filled(as_admin, address)
    assert shown["expires_at"] == ["2027-01-01T10:00"]
    assert as_admin.post(address, shown | {"rpm_limit": "5"}).status_code == 303
    row.refresh_from_db()
    assert (row.rpm_limit, row.expires_at) == (5, expires_at)
    shown = filled(as_admin, address)
    as_admin.post(address, shown | {"expires_at": "2027-01-01T10:01"})
    row.refresh_from_db()
    assert row.expires_at == datetime(2027, 1, 1, 10, 1, tzinfo=UTC)


def test_a_revocation_says_what_the_key_was_last_used_for(
    catalog: Runtime, as_admin: Client
) -> None:
    as_admin.post("/new/keys", {"name": "ci", "scopes": ["read"], "reach": "all"})
    row = ApiKey.objects.get()
    row.last_used_at = moment(catalog)
    row.save()
    page = as_admin.get(f"/revoke/keys/{row.uid}").content.decode()
    assert f"/turns?key={row.uid}" in page
    assert ApiKey.objects.get().revoked_at is None


def test_a_conflict_about_a_key_keeps_its_expiry(catalog: Runtime, as_admin: Client) -> None:
    given = {"name": "ci", "scopes": ["read"], "reach": "all", "expires_at": "2027-01-01T10:00"}
    as_admin.post("/new/keys", given)
    address = f"/edit/keys/{ApiKey.objects.get().uid}"
    shown = filled(as_admin, address)
    as_admin.post(address, shown | {"rpm_limit": "5"})
    answer = as_admin.post(address, shown | {"tpm_limit": "7"})
    assert [one.label for one in answer.context["differences"]] == ["Requests per minute"]
    assert 'value="2027-01-01T10:00"' in answer.content.decode()


def test_a_viewer_sees_keys_and_cannot_touch_them(catalog: Runtime, as_viewer: Client) -> None:
    assert as_viewer.get("/keys").status_code == 200
    assert as_viewer.post("/revoke/keys/x").status_code == 403
    assert as_viewer.get("/users").status_code == 403


def test_a_user_is_added_promoted_and_deleted(catalog: Runtime, as_admin: Client) -> None:
    given = {"username": "nia", "role": "viewer", "is_active": "on", "password": STRONG}
    assert as_admin.post("/new/users", given).status_code == 303
    shown = filled(as_admin, "/edit/users/nia")
    assert as_admin.post("/edit/users/nia", shown | {"role": "operator"}).status_code == 303
    person = User.objects.get(username="nia")
    assert person.role == "operator"
    assert person.check_password(STRONG)
    assert as_admin.post("/edit/users/nia", shown | {"role": "admin"}).status_code == 409
    asked = answered(as_admin, "/delete/users/nia")
    assert as_admin.post("/delete/users/nia", asked).status_code == 303


def test_a_weak_password_is_told_beside_it(catalog: Runtime, as_admin: Client) -> None:
    given = {"username": "nia", "role": "viewer", "is_active": "on", "password": "123"}
    answer = as_admin.post("/new/users", given)
    assert answer.status_code == 422
    assert "too short" in answer.content.decode()
    assert 'value="123"' not in answer.content.decode()


def test_the_last_admin_stays(catalog: Runtime, as_admin: Client) -> None:
    given = filled(as_admin, "/edit/users/ada") | {"role": "viewer"}
    answer = as_admin.post("/edit/users/ada", given)
    assert answer.status_code == 422
    answer = as_admin.post("/delete/users/ada", answered(as_admin, "/delete/users/ada"))
    assert answer.status_code == 422
    assert "the last active admin stays" in answer.content.decode()
    assert User.objects.filter(username="ada", role="admin").exists()


def test_wrong_credentials_answer_422_and_name_neither(client: Client, admin: User) -> None:
    answer = client.post("/login", {"username": "ada", "password": "wrong"})
    assert answer.status_code == 422
    assert "correct username and password" in answer.content.decode()


def test_signing_out_takes_a_post(as_viewer: Client, runtime: Runtime) -> None:
    assert as_viewer.get("/logout").status_code == 405
    assert as_viewer.post("/logout")["Location"] == "/login"
    assert as_viewer.get("/").status_code == 302


@pytest.mark.parametrize(
    ("address", "typed", "called"),
    [
        (
            "/new/keys",
            {
                "name": "ci",
                "scopes": ["read"],
                "reach": "all",
                "expires_at": "2020-01-01T10:00",
            },
            ["-X POST", '"expires_at": "2020-01-01T10:00:00+00:00"', 'api/v1/keys"', "has passed"],
        ),
        (
            "/new/users",
            {"username": "eve", "role": "viewer", "password": STRONG},
            ['''"password": "'"$PASSWORD"'"''', 'api/v1/users"'],
        ),
        (
            "/new/alerts",
            {"name": "bell", "url": "http://example.com/", "secret": f"whsec_{STRONG}"},
            ['''"secret": "'"$SECRET"'"''', 'api/v1/webhooks"', "not encrypted"],
        ),
        (
            "/load/intents",
            {"routes__coding": "chat"},
            ['"routes": {"coding": "chat"}', "api/v1/intents/defaults"],
        ),
    ],
)
def test_what_a_form_would_do_is_shown_with_its_call_and_no_secret(
    catalog: Runtime, as_admin: Client, address: str, typed: dict[str, Any], called: list[str]
) -> None:
    tried = as_admin.post(address, typed | {"do": "preview"})
    page = html.unescape(tried.content.decode())
    assert tried.status_code == 200
    assert [words for words in called if words not in page] == []
    assert STRONG not in page
    assert "Nothing is saved yet." in page
    assert not ApiKey.objects.exists()
    assert not User.objects.filter(username="eve").exists()
    assert not AuditEntry.objects.filter(action="create", kind__in=("keys", "users", "webhooks"))


def test_an_edit_is_shown_with_its_call_and_what_follows(
    catalog: Runtime, as_admin: Client, operator: User
) -> None:
    address = f"/edit/users/{operator.username}"
    given = filled(as_admin, address) | {"do": "preview", "role": "viewer", "password": STRONG}
    given.pop("is_active")
    page = html.unescape(as_admin.post(address, given).content.decode())
    for words in ("-X PATCH", "If-Match", "→ Viewer: looks", "signed out", "ends this person's"):
        assert words in page
    assert STRONG not in page
    emptied = "New password is empty again"
    assert emptied in page, "else a save would keep the old one, and nobody would know"
    for do, password in (("check", STRONG), ("preview", "")):
        again = as_admin.post(address, given | {"do": do, "password": password})
        assert emptied not in again.content.decode()
    operator.refresh_from_db()
    assert (operator.role, operator.is_active, operator.version) == ("operator", True, 1)


def test_the_pages_of_a_secret_and_of_an_import_have_their_calls(
    catalog: Runtime, as_admin: Client
) -> None:
    page = html.unescape(as_admin.get("/secret/credentials/acme-key").content.decode())
    assert """--json '{"secret": "'"$SECRET"'"}\'""" in page
    assert "api/v1/credentials/acme-key/secret" in page
    page = html.unescape(as_admin.get("/transfer").content.decode())
    assert "--data-binary @catalog.toml" in page
    assert "dry_run=true" in page
    text = json.dumps(make.catalog(providers=[make.provider(), make.provider("fresh")]))
    told = as_admin.post("/transfer", {"do": "preview", "mode": "merge", "text": text})
    page = html.unescape(told.content.decode())
    assert f'If-Match: "{catalog.current.revision}"' in page
    assert 'catalog?mode=merge"' in page
    assert "dry_run" not in page
