"""API keys and users through their forms."""

from __future__ import annotations

import re

from django.test import Client

from routeradmin.access.models import ApiKey, User
from routeradmin.services.runtime import Runtime
from tests.console.test_forms import filled

STRONG = "a long and winding phrase"


def test_a_key_is_shown_once(catalog: Runtime, as_admin: Client) -> None:
    answer = as_admin.post("/new/keys", {"name": "ci", "scopes": ["select", "read"]})
    page = answer.content.decode()
    shown = re.search(r'id="new-key">(rk_[^<]+)<', page)
    assert shown
    assert catalog.keys.find(shown[1], catalog.clock()) is not None
    assert "no-store" in answer["Cache-Control"]
    row = ApiKey.objects.get()
    for address in ("/keys", f"/edit/keys/{row.uid}", "/audit"):
        assert shown[1][:8] not in as_admin.get(address).content.decode()


def test_a_key_without_scopes_is_refused(catalog: Runtime, as_admin: Client) -> None:
    answer = as_admin.post("/new/keys", {"name": "ci"})
    assert answer.status_code == 422
    assert not ApiKey.objects.exists()


def test_a_key_is_changed_revoked_and_deleted(catalog: Runtime, as_admin: Client) -> None:
    as_admin.post("/new/keys", {"name": "ci", "scopes": ["read"], "expires_at": "2027-01-01T10:00"})
    row = ApiKey.objects.get()
    address = f"/edit/keys/{row.uid}"
    given = filled(as_admin, address)
    assert as_admin.post(address, given).status_code == 303
    assert ApiKey.objects.get().version == 1
    assert as_admin.post(address, given | {"rpm_limit": "5"}).status_code == 303
    assert as_admin.post(address, given | {"rpm_limit": "6"}).status_code == 409
    assert ApiKey.objects.get().rpm_limit == 5
    as_admin.post(f"/revoke/keys/{row.uid}")
    assert ApiKey.objects.get().revoked_at is not None
    as_admin.post(f"/delete/keys/{row.uid}")
    assert not ApiKey.objects.exists()


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
    version = {"version": str(person.version)}
    assert as_admin.post("/delete/users/nia", version).status_code == 303


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
    assert as_admin.post("/delete/users/ada", {"version": "1"}).status_code == 409
    assert User.objects.filter(username="ada", role="admin").exists()


def test_wrong_credentials_answer_422_and_name_neither(client: Client, admin: User) -> None:
    answer = client.post("/login", {"username": "ada", "password": "wrong"})
    assert answer.status_code == 422
    assert "correct username and password" in answer.content.decode()


def test_signing_out_takes_a_post(as_viewer: Client, runtime: Runtime) -> None:
    assert as_viewer.get("/logout").status_code == 405
    assert as_viewer.post("/logout")["Location"] == "/login"
    assert as_viewer.get("/").status_code == 302
