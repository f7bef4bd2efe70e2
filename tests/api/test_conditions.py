"""If-Match on every write to an object: nobody's change is lost."""

from __future__ import annotations

from typing import Any

import pytest

from routeradmin.access.models import User
from tests.api.client import Api, problem

PATHS = (
    ("/providers/acme", {"tags": ["x"]}),
    ("/credentials/acme-key", {"tags": ["x"]}),
    ("/endpoints/acme-api", {"name": "X"}),
    ("/models/large", {"name": "X"}),
    ("/deployments/acme-large", {"weight": 9}),
    ("/routes/chat", {"name": "X"}),
)
METHODS = ("PATCH", "PUT", "DELETE")
each_path = pytest.mark.parametrize(("path", "change"), PATHS)
each_method = pytest.mark.parametrize("method", METHODS)


def body_for(api: Api, method: str, path: str, change: dict[str, Any]) -> Any:
    if method == "PUT":
        item = {k: v for k, v in api.get(path).json().items() if not k.startswith("secret_")}
        if path.startswith("/credentials"):
            item["secret_reference_id"] = "acme-key-secret"
        return item | change
    return change if method == "PATCH" else None


@each_path
@each_method
def test_a_write_without_condition_is_refused(
    stocked: Api, method: str, path: str, change: dict[str, Any]
) -> None:
    before = stocked.get(path)
    refused = stocked.call(method, path, body_for(stocked, method, path, change))
    problem(refused, 428, "if_match_required")
    assert stocked.get(path).content == before.content


@each_path
@each_method
@pytest.mark.parametrize("tag", ["stale", '"other"', "W/{etag}", "unquoted", "", '"a", "b"'])
def test_a_write_based_on_another_state_is_refused(
    stocked: Api, method: str, path: str, change: dict[str, Any], tag: str
) -> None:
    read = stocked.get(path)
    condition = tag.format(etag=read.headers["ETag"])
    if tag == "stale":
        condition = read.headers["ETag"]
        assert stocked.patch(path, {"name": "meanwhile"}, if_match="*").status_code == 200
    body = body_for(stocked, method, path, change)
    before = stocked.get(path)
    refused = stocked.call(method, path, body, if_match=condition)
    problem(refused, 412, "stale")
    assert stocked.get(path).content == before.content
    assert refused.headers["ETag"] == before.headers["ETag"]


@each_path
@pytest.mark.parametrize("condition", ["*", "{etag}", '"other", {etag}', " * "])
def test_a_condition_that_holds_lets_the_write_through(
    stocked: Api, path: str, change: dict[str, Any], condition: str
) -> None:
    etag = stocked.get(path).headers["ETag"]
    changed = stocked.patch(path, change, if_match=condition.format(etag=etag))
    assert changed.status_code == 200, changed.content
    assert changed.headers["ETag"] != etag
    assert changed.headers["ETag"] == stocked.get(path).headers["ETag"]


@each_path
def test_tags_are_strong_and_save_reading_what_is_known(
    stocked: Api, path: str, change: dict[str, Any]
) -> None:
    etag = stocked.get(path).headers["ETag"]
    assert etag.startswith('"')
    assert etag.endswith('"')
    known = stocked.get(path, if_none_match=etag)
    assert (known.status_code, known.content) == (304, b"")
    assert known.headers["ETag"] == etag
    stocked.patch(path, change, if_match=etag)
    assert stocked.get(path, if_none_match=etag).status_code == 200


def test_of_two_editors_the_second_is_told(stocked: Api) -> None:
    first = second = stocked.get("/deployments/acme-large").headers["ETag"]
    assert (
        stocked.patch("/deployments/acme-large", {"weight": 2}, if_match=first).status_code == 200
    )
    lost = stocked.patch("/deployments/acme-large", {"priority": 3}, if_match=second)
    problem(lost, 412, "stale")
    item = stocked.get("/deployments/acme-large").json()
    assert (item["weight"], item["priority"]) == (2, 0)


def test_a_change_between_check_and_write_is_noticed(
    stocked: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The version that the tag vouched for is compared again inside the transaction."""
    from routeradmin.api import objects

    def overtaken(*arguments: Any) -> int | str:
        version = based_on(*arguments)
        stocked.patch("/models/large", {"name": "faster"}, if_match="*")
        return version

    etag = stocked.get("/models/large").headers["ETag"]
    based_on = objects.based_on
    calls = iter((overtaken, based_on))
    monkeypatch.setattr(objects, "based_on", lambda *a: next(calls)(*a))
    problem(stocked.patch("/models/large", {"name": "slower"}, if_match=etag), 412, "stale")
    assert stocked.get("/models/large").json()["name"] == "faster"


def test_a_new_secret_is_a_new_state_of_its_credential(stocked: Api) -> None:
    before = stocked.get("/credentials/acme-key").headers["ETag"]
    after = stocked.post("/credentials/acme-key/secret", {"secret": "sk-0123456789abcdef"})
    assert after.status_code == 200, after.content
    assert after.headers["ETag"] != before
    problem(stocked.patch("/credentials/acme-key", {"name": "X"}, if_match=before), 412, "stale")


def test_the_catalog_as_a_whole_has_the_revision_as_its_tag(stocked: Api) -> None:
    read = stocked.get("/catalog?format=json")
    revision = stocked.get("/state").json()["revision"]
    assert read.headers["ETag"] == f'"{revision}"'
    assert stocked.get("/catalog", if_none_match=f'"{revision}"').status_code == 304
    body = read.content
    problem(stocked.put("/catalog", body), 428, "if_match_required")
    problem(stocked.put("/catalog", body, if_match='"0"'), 412, "stale")
    for condition in (read.headers["ETag"], "*"):
        assert stocked.put("/catalog", body, if_match=condition).status_code == 200
    assert stocked.put("/catalog?dry_run=true", body).status_code == 200


def test_keys_and_users_have_conditions_too(stocked: Api, admin: User) -> None:
    made = {
        "keys": stocked.post("/keys", {"name": "ci", "scopes": ["read"]}).json()["id"],
        "users": stocked.post(
            "/users", {"username": "bob", "password": "correct horse battery staple"}
        ).json()["id"],
    }
    changes: dict[str, Any] = {"keys": {"name": "other"}, "users": {"role": "operator"}}
    for noun, id in made.items():
        path = f"/{noun}/{id}"
        etag = stocked.get(path).headers["ETag"]
        problem(stocked.patch(path, changes[noun]), 428, "if_match_required")
        assert stocked.patch(path, changes[noun], if_match=etag).status_code == 200
        problem(stocked.patch(path, changes[noun], if_match=etag), 412, "stale")
        problem(stocked.delete(path, if_match=etag), 412, "stale")
        problem(stocked.delete(path), 428, "if_match_required")
        assert stocked.delete(path, if_match="*").status_code == 204


def test_creating_acting_and_cooldowns_need_no_condition(stocked: Api) -> None:
    assert stocked.post("/providers", {"id": "new", "category": "lab"}).status_code == 201
    assert stocked.post("/deployments/acme-large/drain").status_code == 200
    body = {"deployment": "acme-large", "credential": "acme-key", "seconds": 60}
    assert stocked.post("/cooldowns", body).status_code == 200
    assert stocked.delete("/cooldowns?deployment=acme-large").status_code == 200
