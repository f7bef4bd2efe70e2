"""Whatever is wrong with a request: a problem document that says what to do, never a 500."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import DatabaseError, IntegrityError, InterfaceError, OperationalError
from django.test import Client

from routeradmin.access.models import User
from routeradmin.services import changes
from routeradmin.services.runtime import Runtime
from tests import factories as make
from tests.api.client import Api, problem

DEEP = b'{"id":' * 2000
BAD_JSON = (
    b"{",
    b"nonsense",
    b'{"id": NaN}',
    b'{"id": "\xff"}',
    b'{"id": "\\ud800"}',
    b'{"id": 1,}',
    b"\x00",
    DEEP,
)


@pytest.mark.parametrize("body", BAD_JSON, ids=range(len(BAD_JSON)))
@pytest.mark.parametrize("noun", ["providers", "routes", "keys", "users", "cooldowns"])
def test_a_body_that_is_no_json_is_invalid_json(stocked: Api, noun: str, body: bytes) -> None:
    answer = stocked.call("POST", f"/{noun}", body, type="application/json")
    problem(answer, 400, "invalid_json")


@pytest.mark.parametrize("body", [b"[]", b"1", b'"text"', b"null", b"true"])
def test_a_body_that_is_no_object_is_told_so(stocked: Api, body: bytes) -> None:
    answer = stocked.call("POST", "/providers", body, type="application/json")
    places = problem(answer, 422, "invalid_request")["errors"]
    assert places == [{"pointer": "", "detail": "must be an object"}]


def test_a_missing_body_is_told_so(stocked: Api) -> None:
    places = problem(stocked.post("/providers"), 422, "invalid_request")["errors"]
    assert [place["pointer"] for place in places] == [""]


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
def test_a_body_of_ten_megabytes_is_too_large(stocked: Api, method: str) -> None:
    path = "/providers" if method == "POST" else "/providers/acme"
    body = b'{"id": "' + b"x" * 10_000_000 + b'"}'
    answer = stocked.call(method, path, body, type="application/json", if_match="*")
    problem(answer, 413, "request_too_large")


def test_a_catalog_above_its_limit_is_too_large(stocked: Api) -> None:
    body = b"#" * (16 * 1024 * 1024 + 1)
    answer = stocked.call("PUT", "/catalog", body, type="application/toml", if_match="*")
    problem(answer, 413, "request_too_large")


FIELD_CASES: list[tuple[str, dict[str, Any], list[str]]] = [
    ("providers", {}, ["/id", "/category"]),
    ("providers", make.provider("a b"), ["/id"]),
    ("providers", make.provider("x" * 257), ["/id"]),
    ("providers", make.provider("x", tags="eu"), ["/tags"]),
    ("providers", make.provider("x", tags=["eu", 1]), ["/tags/1"]),
    ("providers", make.provider("x", name="a\nb"), ["/name"]),
    ("providers", make.provider("x", admin_state="off"), ["/admin_state"]),
    ("providers", make.provider("x", **{"a/b~c": 1}), ["/a~1b~0c"]),
    ("credentials", make.account("x", provider_id="nobody"), ["/provider_id"]),
    ("credentials", make.account("x", auth_kind="token"), ["/auth_kind"]),
    ("endpoints", make.endpoint("x", base_url="ftp://a.example/"), ["/base_url"]),
    ("endpoints", make.endpoint("x", base_url="http://169.254.169.254/"), ["/base_url"]),
    ("endpoints", make.endpoint("x", base_url="http://[::ffff:169.254.169.254]/"), ["/base_url"]),
    ("endpoints", make.endpoint("x", base_url="https://me:pw@a.example/"), ["/base_url"]),
    ("endpoints", make.endpoint("x", base_url="not a url"), ["/base_url"]),
    ("endpoints", make.endpoint("x", connect_timeout_s="5"), ["/connect_timeout_s"]),
    ("endpoints", make.endpoint("x", probe={"mode": "ping"}), ["/probe/mode"]),
    ("deployments", make.deployment("x", weight=-1), ["/weight"]),
    ("deployments", make.deployment("x", weight=2**31), ["/weight"]),
    ("deployments", make.deployment("x", weight=1.5), ["/weight"]),
    ("deployments", make.deployment("x", weight=True), ["/weight"]),
    ("deployments", make.deployment("x", drain_until="tomorrow"), ["/drain_until"]),
    ("deployments", make.deployment("x", endpoint_id="no"), ["/endpoint_id"]),
    ("routes", make.route("x", targets=[]), [""]),
    ("routes", make.route("x", targets={}), ["/targets"]),
    ("routes", make.route("x", targets=[{"position": 0}]), ["/targets/0/serving_model_id"]),
    (
        "routes",
        make.route("x", strategy="magic", targets=[{"serving_model_id": "acme-large"}]),
        ["/strategy", "/targets/0/position"],
    ),
    ("aliases", {"name": "loop", "target": "loop"}, ["/target"]),
    ("policies", {"id": "x", "retry": {"max_attempts": 17}}, ["/retry/max_attempts"]),
    ("policies", {"id": "x", "classify": [{"class": "quota"}]}, ["/classify/0"]),
    ("keys", {"name": "x", "scopes": ["root"]}, ["/scopes"]),
    ("keys", {"scopes": ["read"]}, ["/name"]),
    ("keys", {"name": "x", "scopes": ["read"], "rpm_limit": -1}, ["/rpm_limit"]),
    ("keys", {"name": "x", "scopes": ["read"], "expires_at": "2026-01-01"}, ["/expires_at"]),
    ("users", {"username": "x y", "password": "12"}, ["/password", "/username"]),
    ("users", {"username": "x", "password": make.PASSWORD, "role": "god"}, ["/role"]),
    ("cooldowns", {"deployment": "acme-large", "seconds": 0}, ["/seconds"]),
    ("cooldowns", {"deployment": "acme-large", "seconds": "60"}, ["/seconds"]),
    ("cooldowns", {"deployment": "acme-large", "seconds": 1e300}, ["/seconds"]),
]


@pytest.mark.parametrize(("noun", "body", "places"), FIELD_CASES)
def test_every_place_that_is_wrong_is_named(
    stocked: Api, noun: str, body: dict[str, Any], places: list[str]
) -> None:
    before = stocked.get("/catalog").content
    refused = problem(stocked.post(f"/{noun}", body), 422, "invalid_request")
    assert sorted({place["pointer"] for place in refused["errors"]}) == sorted(places)
    assert stocked.get("/catalog").content == before


@pytest.mark.parametrize(
    ("field", "value", "needs"),
    [
        ("tags", "x", "must be a list"),
        ("capabilities", [], "must be an object"),
        ("probe", 5, "must be an object"),
    ],
)
def test_what_a_field_needs_is_said_in_words_of_json(
    stocked: Api, field: str, value: Any, needs: str
) -> None:
    body = {field: value}
    changed = stocked.call("PATCH", "/deployments/acme-large", body, if_match="*")
    for answer in (changed, stocked.post("/deployments", body)):
        refused = problem(answer, 422, "invalid_request")
        assert {"pointer": f"/{field}", "detail": needs} in refused["errors"]


def test_values_are_not_echoed(stocked: Api) -> None:
    for body in (
        make.account("x", secret="sk-tell nobody 123456"),
        make.account("x", secret=["sk-tell-nobody-123456"]),
        make.account("x", secrets="sk-tell-nobody-123456"),
        make.endpoint("x", base_url="https://me:sk-tell-nobody-123456@a.example/"),
        make.endpoint("x", headers={"authorization": "sk-tell-nobody-123456\n"}),
    ):
        noun = "credentials" if "provider_id" in body else "endpoints"
        answer = stocked.post(f"/{noun}", body)
        assert answer.status_code == 422, answer.content
        assert b"tell" not in answer.content


def test_names_that_are_one_after_folding_are_one_name(stocked: Api) -> None:
    targets = [{"serving_model_id": "acme-large", "position": 0}]
    first = make.route("a", alias="caf\u00e9", targets=targets)
    again = make.route("b", alias=" cafe\u0301 ", targets=targets)
    assert stocked.post("/routes", first).status_code == 201
    refused = problem(stocked.post("/routes", again), 422, "invalid_request")
    assert [place["pointer"] for place in refused["errors"]] == ["/alias"]


@pytest.mark.parametrize(
    "path",
    [
        "/providers/nobody",
        "/deployments/a/b/c",
        "/routes/%00",
        "/aliases/%0A",
        "/keys/%00",
        "/users/%00",
        "/users/..%2f",
        "/turns/nothing",
        "/revisions/99999",
        "/revisions/99999999999999999999",
        "/revisions/1/diff/99999",
        "/nothing",
        "/providers/",
        "/",
        "",
        "/revisions/x",
        "/%E2%82%AC",
        "/catalog/x",
    ],
)
def test_what_is_not_there_is_not_found(stocked: Api, path: str) -> None:
    problem(stocked.get(path), 404, "not_found")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("DELETE", "/providers", "GET, POST"),
        ("POST", "/providers/acme", "DELETE, GET, PATCH, PUT"),
        ("POST", "/state", "GET"),
        ("PATCH", "/catalog", "GET, PUT"),
        ("PUT", "/cooldowns", "DELETE, GET, POST"),
        ("GET", "/revisions/1/rollback", "POST"),
        ("BREW", "/audit", "GET"),
        ("OPTIONS", "/turns", "GET"),
    ],
)
def test_a_method_that_is_not_there_names_those_that_are(
    stocked: Api, method: str, path: str, allowed: str
) -> None:
    answer = stocked.call(method, path)
    problem(answer, 405, "method_not_allowed")
    assert answer.headers["Allow"] == allowed


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("/providers?colour=red", "?colour"),
        ("/providers/acme?colour=red", "?colour"),
        ("/state?colour=red", "?colour"),
        ("/events?colour=red", "?colour"),
        ("/providers?limit=none", "?limit"),
        ("/providers?cursor=x", "?cursor"),
        ("/events?status=teapot", "?status"),
        ("/events?status=99999999999", "?status"),
        ("/events?since=yesterday", "?since"),
        ("/events?since=2026-13-01T00:00:00Z", "?since"),
        ("/events?until=2026-01-01T00:00:00", "?until"),
        ("/events?cursor=-1", "?cursor"),
        ("/events?after=x", "?after"),
        ("/audit?kind=%00", "?kind"),
        ("/audit?colour=red", "?colour"),
        ("/turns?limit=0", "?limit"),
        ("/revisions?sort=number", "?sort"),
        ("/catalog?format=yaml", "?format"),
    ],
)
def test_a_query_that_makes_no_sense_is_named(stocked: Api, path: str, place: str) -> None:
    refused = problem(stocked.get(path), 422, "invalid_request")
    assert [one["pointer"] for one in refused["errors"]] == [place]


def test_a_mistyped_dry_run_is_no_import(stocked: Api) -> None:
    before = stocked.get("/catalog").content
    file = '{"format": "routeradmin.catalog/1"}'
    answer = stocked.put("/catalog?mode=replace&dryrun=true", file, if_match="*")
    refused = problem(answer, 422, "invalid_request")
    assert [one["pointer"] for one in refused["errors"]] == ["?dryrun"]
    assert stocked.get("/catalog").content == before


@pytest.mark.parametrize("with_session", [False, True])
def test_a_form_with_parts_is_refused(stocked: Api, admin: User, with_session: bool) -> None:
    client = Client()
    if with_session:
        client.force_login(admin)
        stocked = Api(client=client)
    form = "--x\r\nContent-Disposition: form-data; name=id\r\n\r\nacme\r\n--x--\r\n"
    answer = stocked.call("POST", "/providers", form, type="multipart/form-data; boundary=x")
    problem(answer, 415, "unsupported_media_type")
    form_body = "id=acme&category=lab"
    answer = stocked.call("POST", "/providers", form_body, type="application/x-www-form-urlencoded")
    problem(answer, 400, "invalid_json")


@pytest.mark.parametrize("path", ["/state", "/providers", "/nothing"])
def test_a_host_that_is_not_ours_is_refused_in_the_same_shape(
    stocked: Api, settings: Any, path: str
) -> None:
    settings.ALLOWED_HOSTS = ["router.example"]
    problem(stocked.get(path, host="evil.example"), 400, "unknown_host")


def test_head_is_a_get_without_its_body(stocked: Api) -> None:
    answer = stocked.call("HEAD", "/providers/acme")
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["ETag"] == stocked.get("/providers/acme").headers["ETag"]


@pytest.mark.parametrize("kind", [OperationalError, InterfaceError, DatabaseError])
def test_a_database_that_is_gone_is_told_as_such(
    stocked: Api, monkeypatch: pytest.MonkeyPatch, kind: type[Exception]
) -> None:
    def gone(*arguments: Any, **keywords: Any) -> None:
        raise kind("could not connect to server at secret-host")

    monkeypatch.setattr(changes, "create", gone)
    answer = stocked.post("/providers", make.provider("x"))
    problem(answer, 503, "database_unavailable")
    assert answer.headers["Retry-After"] == "5"
    assert b"secret-host" not in answer.content


def test_a_statement_that_the_database_refuses_is_a_fault_of_our_own(
    stocked: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*arguments: Any, **keywords: Any) -> None:
        raise IntegrityError("NOT NULL constraint failed")

    monkeypatch.setattr(changes, "create", refused)
    problem(stocked.post("/providers", make.provider("x")), 500, "internal_error")


def test_a_reason_that_is_no_line_of_text_is_refused(stocked: Api) -> None:
    body = make.provider("x")
    answer = stocked.post("/providers", body, x_routeradmin_reason="x" * 1001)
    problem(answer, 422, "invalid_request")
    problem(stocked.get("/providers/x"), 404, "not_found")


def test_a_fault_of_our_own_is_told_without_its_details(
    stocked: Api, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime, "current", None)
    answer = stocked.get("/state")
    problem(answer, 500, "internal_error")
    assert b"NoneType" not in answer.content
