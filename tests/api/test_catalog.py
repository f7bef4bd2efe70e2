"""The catalog as a file, its revisions, what differs, and the way back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from routeradmin.catalog.files.writing import write
from routeradmin.services.runtime import Runtime
from tests import factories as make
from tests.api.client import Api, problem

UNSAID = ("application/octet-stream", "text/plain", "application/x-www-form-urlencoded")
JSON = "application/json"
TOML = "application/toml"


def encoded(values: dict[str, Any], media_type: str = JSON) -> bytes:
    return write(make.document(values), "json" if media_type == JSON else "toml")


def put(api: Api, body: bytes | str, query: str = "", type: str = JSON, **headers: str) -> Any:
    headers.setdefault("if_match", "*")
    return api.call("PUT", f"/catalog{query}", body, type=type, **headers)


@pytest.mark.parametrize("media_type", [JSON, TOML])
def test_what_was_imported_is_exported_again(api: Api, media_type: str) -> None:
    body = encoded(make.full_catalog(), media_type)
    answer = put(api, body, "?mode=replace", media_type)
    assert answer.status_code == 200, answer.content
    exported = api.get(f"/catalog?format={'json' if media_type == JSON else 'toml'}")
    assert exported.headers["Content-Type"] == media_type
    assert exported.content == body
    again = put(api, exported.content, "?mode=replace", media_type)
    assert (again.json()["changed"], again.json()["diff"]["text"]) == (False, "")


@pytest.mark.parametrize("type", UNSAID)
def test_with_a_content_type_that_says_nothing_the_content_tells(api: Api, type: str) -> None:
    for media_type in (JSON, TOML):
        assert put(api, encoded(make.catalog(), media_type), type=type).status_code == 200


def test_another_content_type_is_refused(api: Api) -> None:
    problem(put(api, b"a,1", type="text/csv"), 415, "unsupported_media_type")


def test_a_merge_keeps_what_the_file_does_not_name(stocked: Api) -> None:
    file = {"format": "routeradmin.catalog/1", "providers": [make.provider("new")]}
    answer = put(stocked, json.dumps(file))
    assert answer.json()["diff"]["added"] == [{"kind": "providers", "id": "new"}]
    assert [one["id"] for one in stocked.get("/providers").json()["items"]] == ["acme", "new"]


def test_a_replace_leaves_nothing_else(stocked: Api) -> None:
    file = {"format": "routeradmin.catalog/1", "providers": [make.provider("new")]}
    answer = put(stocked, json.dumps(file), "?mode=replace")
    assert {one["kind"] for one in answer.json()["diff"]["removed"]} >= {"routes", "targets"}
    assert [one["id"] for one in stocked.get("/providers").json()["items"]] == ["new"]
    assert stocked.get("/routes").json()["items"] == []


def test_a_dry_run_answers_the_diff_and_changes_nothing(stocked: Api) -> None:
    before = stocked.get("/catalog")
    values = make.catalog(serving_models=[make.deployment(weight=7)])
    answer = stocked.call("PUT", "/catalog?dry_run=true", encoded(values), type=JSON)
    content = answer.json()  # type: ignore[attr-defined]
    assert (content["dry_run"], content["changed"]) == (True, True)
    (change,) = content["diff"]["changed"]
    assert change == {
        "kind": "serving_models",
        "id": "acme-large",
        "fields": {"weight": {"before": 1, "after": 7}},
    }
    after = stocked.get("/catalog")
    assert (after.content, after.headers["ETag"]) == (before.content, before.headers["ETag"])


def test_an_import_based_on_an_older_revision_is_refused(stocked: Api) -> None:
    etag = stocked.get("/catalog").headers["ETag"]
    stocked.post("/providers", make.provider("meanwhile"))
    problem(put(stocked, encoded(make.catalog()), if_match=etag), 412, "stale")


def test_every_problem_of_a_file_is_listed_and_nothing_is_applied(stocked: Api) -> None:
    before = stocked.get("/catalog").content
    values = make.catalog(
        accounts=[make.account(provider_id="nobody")],
        targets=[make.target(), make.target("chat-2", position=5)],
        aliases=[{"name": "a", "target": "b"}, {"name": "b", "target": "a"}],
    )
    answer = put(stocked, json.dumps(values), "?mode=replace")
    places = {one["pointer"] for one in problem(answer, 422, "invalid_request")["errors"]}
    assert "/accounts/0/provider_id" in places
    assert any(place.startswith("/aliases/") for place in places)
    assert len(places) >= 3
    assert stocked.get("/catalog").content == before


@pytest.mark.parametrize(
    ("body", "type"),
    [
        (b"", JSON),
        (b"{", JSON),
        (b"[]", JSON),
        (b'{"format": "other/1"}', JSON),
        (b'{"format": "routeradmin.catalog/1", "providers": {}}', JSON),
        (b'{"format": "routeradmin.catalog/1", "format": "x"}', JSON),
        (b"a = [", TOML),
        (b"\xff\xfe\x00", TOML),
        (b"a = 1\na = 2", TOML),
        (b'{"a":' * 5000, JSON),
        (b"a = " + b"[" * 5000, TOML),
        (b"%YAML", "text/plain"),
    ],
)
def test_a_file_that_is_no_catalog_is_a_problem(stocked: Api, body: bytes, type: str) -> None:
    before = stocked.get("/catalog").content
    problem(put(stocked, body, type=type), 422, "invalid_request")
    assert stocked.get("/catalog").content == before


def test_an_import_is_in_force_when_it_is_answered(api: Api, runtime: Runtime) -> None:
    answer = put(api, encoded(make.catalog()))
    state = api.get("/state").json()
    assert state["revision"] == answer.json()["revision"] == runtime.current.revision
    assert answer.headers["ETag"] == f'"{state["revision"]}"'
    assert [one["id"] for one in state["candidates"]] == ["acme-large/acme-key"]


def test_revisions_tell_who_why_and_what(stocked: Api) -> None:
    stocked.post("/providers", make.provider("x"), x_routeradmin_reason="new lab")
    newest, oldest = stocked.get("/revisions").json()["items"]
    assert (newest["number"], oldest["number"]) == (2, 1)
    assert (newest["author"], newest["reason"]) == ("key:tests", "new lab")
    one = stocked.get("/revisions/2").json()
    assert one["digest"] == newest["digest"] == stocked.get("/state").json()["config_digest"]
    assert [entry["id"] for entry in one["document"]["providers"]] == ["acme", "x"]
    between = stocked.get("/revisions/1/diff/2").json()
    assert between["added"] == [{"kind": "providers", "id": "x"}]
    assert between["text"] == "+ providers x"
    assert stocked.get("/revisions/2/diff/1").json()["removed"] == between["added"]


def test_a_rollback_is_a_new_revision_with_the_old_catalog(stocked: Api) -> None:
    before = stocked.get("/catalog").content
    stocked.patch("/deployments/acme-large", {"weight": 9}, if_match="*")
    stocked.post("/deployments/acme-large/disable")
    answer = stocked.post("/revisions/1/rollback", {"reason": "was better"})
    assert answer.status_code == 200, answer.content
    assert answer.json()["revision"] == 4
    deployment = stocked.get("/deployments/acme-large").json()
    assert (deployment["weight"], deployment["admin_state"]) == (1, "disabled")
    assert stocked.get("/revisions/4").json()["reason"] == "was better"
    stocked.post("/deployments/acme-large/enable")
    assert stocked.get("/catalog").content == before


def test_a_rollback_may_be_conditional(stocked: Api) -> None:
    stocked.post("/providers", make.provider("x"))
    problem(stocked.post("/revisions/1/rollback", if_match='"1"'), 412, "stale")
    assert stocked.post("/revisions/1/rollback", if_match='"2"').status_code == 200
    problem(stocked.post("/revisions/77/rollback"), 404, "not_found")


def test_a_refused_file_of_another_program_tells_what_it_leaves_open(stocked: Api) -> None:
    text = (
        "model_list:\n- model_name: x\n  litellm_params: {model: openai/m, api_key: two words}\n"
        "litellm_settings: {drop_params: true}\n"
    )
    found = problem(put(stocked, text, type="application/yaml"), 422, "invalid_request")
    assert [one["pointer"] for one in found["errors"]] == ["/model_list/0"]
    assert found["source"] == "litellm"
    assert [one["pointer"] for one in found["unmapped"]] == ["/litellm_settings/drop_params"]
    assert "/model_list/0/litellm_params/api_key" in {one["pointer"] for one in found["notes"]}
