"""Keys and users: made, limited, revoked; texts and passwords never come back."""

from __future__ import annotations

import pytest

from routeradmin.access.models import User
from tests.api.client import Api, problem
from tests.factories import PASSWORD


def test_a_key_is_shown_once(api: Api) -> None:
    body = {
        "name": "ci",
        "scopes": ["select", "read"],
        "routes": ["chat"],
        "rpm_limit": 60,
        "tpm_limit": None,
        "max_parallel_requests": 4,
        "expires_at": "2026-06-01T00:00:00+02:00",
    }
    answer = api.post("/keys", body)
    assert answer.status_code == 201, answer.content
    assert answer.headers["Cache-Control"] == "no-store"
    made = answer.json()
    text = made.pop("key")
    assert made == made | body | {"expires_at": "2026-05-31T22:00:00.000Z", "revoked_at": None}
    for path in (f"/keys/{made['id']}", "/keys", "/audit"):
        assert text not in api.get(path).content.decode()
    assert api.get(f"/keys/{made['id']}").json() == made
    assert Api(text).get("/state").status_code == 200


def test_a_key_is_changed_replaced_revoked_and_deleted(api: Api) -> None:
    made = api.post("/keys", {"name": "ci", "scopes": ["read"], "rpm_limit": 5}).json()
    path = f"/keys/{made['id']}"
    assert api.patch(path, {"scopes": ["write"]}, if_match="*").json()["rpm_limit"] == 5
    problem(Api(made["key"]).get("/state"), 403, "insufficient_scope")
    put = api.put(path, {"name": "ci", "scopes": ["read"]}, if_match="*").json()
    assert (put["scopes"], put["rpm_limit"]) == (["read"], None)
    assert api.post(f"{path}/revoke").json()["revoked_at"] == "2026-01-01T00:00:00.000Z"
    problem(Api(made["key"]).get("/state"), 401, "invalid_api_key")
    assert api.delete(path, if_match="*").status_code == 204
    problem(api.get(path), 404, "not_found")


def test_using_a_key_is_no_change_of_it(api: Api) -> None:
    made = api.post("/keys", {"name": "ci", "scopes": ["admin"]}).json()
    etag = api.get(f"/keys/{made['id']}").headers["ETag"]
    Api(made["key"]).get("/keys")
    assert api.get(f"/keys/{made['id']}").headers["ETag"] == etag


def test_a_user_is_made_changed_and_deleted(api: Api, admin: User) -> None:
    made = api.post("/users", {"username": "bob", "password": PASSWORD, "role": "operator"})
    assert made.status_code == 201, made.content
    assert made.json() == {
        "id": "bob",
        "username": "bob",
        "role": "operator",
        "is_active": True,
    }
    changed = api.patch("/users/bob", {"role": "viewer"}, if_match=made.headers["ETag"])
    assert changed.json()["role"] == "viewer"
    put = api.put("/users/bob", {"role": "operator"}, if_match="*")
    assert put.json() == made.json()
    assert User.objects.get(username="bob").check_password(PASSWORD)
    assert (
        api.patch("/users/bob", {"password": "another " + PASSWORD}, if_match="*").status_code
        == 200
    )
    assert User.objects.get(username="bob").check_password("another " + PASSWORD)
    assert {one["id"] for one in api.get("/users?role=operator").json()["items"]} == {"bob"}
    assert PASSWORD not in api.get("/audit").content.decode()
    assert api.delete("/users/bob", if_match="*").status_code == 204
    problem(api.get("/users/bob"), 404, "not_found")
    problem(api.post("/users", {"username": "ada", "password": PASSWORD}), 409, "already_exists")


@pytest.mark.parametrize("change", [{"role": "viewer"}, {"is_active": False}, None])
def test_the_last_admin_stays(api: Api, admin: User, change: dict[str, object] | None) -> None:
    answer = (
        api.delete("/users/ada", if_match="*")
        if change is None
        else api.patch("/users/ada", change, if_match="*")
    )
    problem(answer, 422, "invalid_request")
    assert api.get("/users/ada").json()["role"] == "admin"
