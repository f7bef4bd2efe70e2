"""Who may what: every operation of the document, with every scope and every role."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from routeradmin.access.models import Scope, User
from routeradmin.api.application import api as ninja
from routeradmin.services.runtime import Runtime
from tests import factories as make
from tests.api.client import Api, key_with, problem

ROLE_RIGHTS = {
    "viewer": {"read"},
    "operator": {"read", "act"},
    "admin": {"read", "act", "write", "admin"},
}
METHODS = ("get", "post", "put", "patch", "delete")


def operations() -> list[tuple[str, str, dict[str, Any]]]:
    """(method, path below /api/v1, the document's words) of every operation that Django serves."""
    document = ninja.get_openapi_schema(path_prefix="/api/v1/")
    data_plane = {"decisions", "inference", "operation"}
    return [
        (method.upper(), path.removeprefix("/api/v1"), details)
        for path, item in document["paths"].items()
        for method, details in item.items()
        if method in METHODS and not data_plane & set(details.get("tags", ()))
    ]


def address(path: str) -> str:
    """The path with something in place of its parameters; whether it exists matters to no right."""
    for name, value in (("id", "nobody"), ("number", "1"), ("a", "1"), ("b", "2")):
        path = path.replace(f"{{{name}}}", value)
    return path


every_operation = pytest.mark.parametrize(
    ("method", "path", "details"),
    [pytest.param(*entry, id=f"{entry[0]} {entry[1]}") for entry in operations()],
)


def test_the_document_names_what_the_contract_names() -> None:
    found = {f"{method} {path}" for method, path, _ in operations()}
    for noun in (
        "providers",
        "credentials",
        "endpoints",
        "models",
        "deployments",
        "routes",
        "aliases",
        "policies",
        "keys",
        "users",
    ):
        assert {f"GET /{noun}", f"POST /{noun}"} <= found
        assert {f"{one} /{noun}/{{id}}" for one in ("GET", "PUT", "PATCH", "DELETE")} <= found
    assert {f"POST /deployments/{{id}}/{verb}" for verb in ("drain", "disable", "enable")} <= found
    assert {f"POST /deployments/{{id}}/{verb}" for verb in ("probe", "test")} <= found
    assert {
        "POST /credentials/{id}/secret",
        "GET /state",
        "GET /events",
        "GET /turns",
        "GET /turns/{id}",
        "GET /cooldowns",
        "POST /cooldowns",
        "DELETE /cooldowns",
        "GET /catalog",
        "PUT /catalog",
        "GET /catalog/warnings",
        "GET /revisions",
        "GET /revisions/{number}",
        "GET /revisions/{a}/diff/{b}",
        "POST /revisions/{number}/rollback",
        "GET /audit",
        "GET /audit/export",
    } <= found


@every_operation
def test_nobody_gets_in_without_showing_who_they_are(
    runtime: Runtime, method: str, path: str, details: dict[str, Any]
) -> None:
    answer = Api().call(method, address(path))
    problem(answer, 401, "not_authenticated")
    assert answer.headers["WWW-Authenticate"] == "Bearer"


@every_operation
def test_a_key_gets_in_with_the_scope_and_with_no_other(
    runtime: Runtime, method: str, path: str, details: dict[str, Any]
) -> None:
    for scope in Scope.values:
        answer = Api(key_with(scope)).call(method, address(path))
        if scope == details["x-required-scope"]:
            assert answer.status_code not in (401, 403), answer.content
            assert answer.status_code < 500
        else:
            refused = problem(answer, 403, "insufficient_scope")
            assert details["x-required-scope"] in refused["detail"]


@every_operation
def test_a_session_gets_in_as_far_as_its_role_goes(
    runtime: Runtime,
    viewer: User,
    operator: User,
    admin: User,
    method: str,
    path: str,
    details: dict[str, Any],
) -> None:
    for person in (viewer, operator, admin):
        client = Client()
        client.force_login(person)
        answer = Api(client=client).call(method, address(path))
        if right_of(details) in ROLE_RIGHTS[person.role]:
            assert answer.status_code not in (401, 403), answer.content
            assert answer.status_code < 500
        else:
            refused = problem(answer, 403, "insufficient_role")
            assert details["x-required-role"] in refused["detail"]


def right_of(details: dict[str, Any]) -> str:
    words = (details["x-required-scope"], details["x-required-role"])
    return {
        ("read", "viewer"): "read",
        ("write", "operator"): "act",
        ("write", "admin"): "write",
        ("admin", "admin"): "admin",
    }[words]


@pytest.mark.parametrize("header", ["authorization", "x_api_key"])
def test_a_key_may_come_in_either_header(runtime: Runtime, header: str) -> None:
    token = key_with("read")
    value = f"bearer {token}" if header == "authorization" else token
    assert Api().get("/state", **{header: value}).status_code == 200


@pytest.mark.parametrize("token", ["rk_unknown", "ü", "a b", ""])
def test_a_key_that_is_not_known_is_refused_even_beside_a_session(
    runtime: Runtime, admin: User, token: str
) -> None:
    client = Client()
    client.force_login(admin)
    answer = Api(client=client).get("/state", x_api_key=token)
    problem(answer, 401, "invalid_api_key")
    assert token == "" or token not in answer.content.decode()


def test_a_revoked_and_an_expired_key_open_nothing(stocked: Api, clock: Any) -> None:
    made = stocked.post("/keys", {"name": "ci", "scopes": ["read"]}).json()
    short = stocked.post(
        "/keys", {"name": "ci", "scopes": ["read"], "expires_at": "2026-01-01T00:01:00Z"}
    ).json()
    assert Api(made["key"]).get("/state").status_code == 200
    assert Api(short["key"]).get("/state").status_code == 200
    stocked.post(f"/keys/{made['id']}/revoke")
    clock.advance(61)
    problem(Api(made["key"]).get("/state"), 401, "invalid_api_key")
    problem(Api(short["key"]).get("/state"), 401, "invalid_api_key")


def test_a_session_writes_only_with_its_csrf_token(runtime: Runtime, admin: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(admin)
    api = Api(client=client)
    assert api.get("/providers").status_code == 200
    body = {"id": "acme", "category": "lab"}
    problem(api.post("/providers", body), 403, "csrf_failed")
    client.cookies["csrftoken"] = token = "a" * 32
    problem(api.post("/providers", body, x_csrftoken="b" * 32), 403, "csrf_failed")
    assert api.post("/providers", body, x_csrftoken=token).status_code == 201


def test_a_key_needs_no_csrf_token_even_beside_a_session(runtime: Runtime, viewer: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(viewer)
    api = Api(key_with("write"), client)
    assert api.post("/providers", {"id": "acme", "category": "lab"}).status_code == 201


def test_the_audit_names_who_was_answerable(runtime: Runtime, admin: User) -> None:
    client = Client()
    client.force_login(admin)
    Api(client=client).post("/providers", make.provider("a"), x_routeradmin_reason="because")
    Api(key_with("write", name="ci")).post("/providers", make.provider("b"))
    entries = Api(key_with("read")).get("/audit?kind=providers").json()["items"]
    assert [(one["actor"], one["object_id"], one["reason"]) for one in entries] == [
        ("key:ci", "b", ""),
        ("user:ada", "a", "because"),
    ]
    assert {one["source"] for one in entries} == {"127.0.0.1"}
