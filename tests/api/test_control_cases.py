"""Catalog control as an operator's programs meet it: other programs' files, faults that users
reported, the audit as a file."""

from __future__ import annotations

import csv
import io
import json
import time
from typing import Any, get_args

import pytest
from django.http import HttpResponse

from routeradmin.api.catalog import FileFormat
from routeradmin.catalog.files import FORMATS, write
from routeradmin.engine.state import Cooldown, FailureClass
from routeradmin.services.runtime import Runtime
from tests import factories as make
from tests.api.client import Api, problem
from tests.catalog.foreign.drafts import fixture_bytes

YAML = "application/yaml"
SECRET = "sk-literal-0123456789abcdef"
LITERAL = f"""
model_list:
  - model_name: chat
    litellm_params: {{model: openai/gpt-4o, api_key: {SECRET}}}
"""


def put(api: Api, body: bytes | str, query: str = "", type: str = YAML) -> HttpResponse:
    return api.call("PUT", f"/catalog{query}", body, type=type, if_match="*")


class TestAFileOfAnotherProgram:
    @pytest.mark.parametrize(
        ("name", "source"),
        [
            ("litellm.yaml", "litellm"),
            ("litellm-rs.yaml", "litellm-rs"),
            ("litellm-rs-configmap.yaml", "litellm-rs"),
            ("switchailocal.yaml", "switchailocal"),
            ("switchailocal-v8.yaml", "switchailocal"),
        ],
    )
    def test_is_imported_tried_first_and_exported(self, api: Api, name: str, source: str) -> None:
        data = fixture_bytes(name)
        tried = put(api, data, "?mode=replace&dry_run=true").json()
        assert (tried["source"], tried["dry_run"], tried["revision"]) == (source, True, 0)
        done = put(api, data, "?mode=replace").json()
        assert done["diff"] == tried["diff"]
        assert (done["unmapped"], done["notes"]) == (tried["unmapped"], tried["notes"])
        assert done["revision"] == 1
        exported = api.get("/catalog").content
        again = put(api, exported, "?mode=replace", "application/toml").json()
        assert (again["changed"], again["source"]) == (False, "catalog")

    def test_has_its_literal_key_stored_and_shown_nowhere(self, api: Api, runtime: Runtime) -> None:
        answer = put(api, LITERAL)
        assert answer.json()["secrets"] == {"openai-key-001": "added"}
        held = runtime.secrets.by_id("openai-key-001")
        assert held is not None
        assert held.reveal() == SECRET
        texts = [answer.content] + [
            api.get(path).content
            for path in ("/catalog", "/revisions/1", "/audit", "/events", "/credentials")
        ]
        assert all(SECRET[:11].encode() not in text for text in texts)
        fingerprint = api.get("/credentials/openai-key-001").json()["secret_fingerprint"]
        assert fingerprint
        assert fingerprint.encode() in api.get("/audit").content

    def test_may_be_named_where_its_content_does_not_tell(self, api: Api) -> None:
        answer = put(api, "providers: []", "?format=litellm&dry_run=true")
        assert answer.json()["source"] == "litellm"
        problem(put(api, LITERAL, "?format=toml"), 422, "invalid_request")
        problem(put(api, LITERAL, "?format=xml"), 422, "invalid_request")

    @pytest.mark.parametrize(
        "body",
        [
            "model_list:\n\t- a: 1",
            "a0: &a0 [x]\n"
            + "".join(f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)),
            "model_list: " + "[" * 100_000,
            f"model_list:\n  - api_key: {SECRET}\n - broken",
            "\x00\x01",
            "model_list: [{model_name: '" + "x" * 2_000_000,
        ],
        ids=["tab", "bomb", "depth", "secret", "binary", "size"],
    )
    def test_that_is_malformed_is_a_problem_soon_and_echoes_nothing(
        self, stocked: Api, body: str
    ) -> None:
        before = stocked.get("/catalog").content
        started = time.process_time()
        answer = put(stocked, body)
        assert time.process_time() - started < 1
        (told,) = problem(answer, 422, "invalid_request")["errors"]
        assert "line" in told["detail"] or "valid YAML" in told["detail"]
        assert len(answer.content) < 1000
        assert SECRET.encode() not in answer.content
        assert stocked.get("/catalog").content == before


class TestOneBadEntryOfAnImport:
    def test_names_itself_and_its_field_and_nothing_is_created(self, stocked: Api) -> None:
        entries = [make.deployment(f"new-{n}") for n in range(5)]
        entries[3]["weight"] = "much"
        body = json.dumps({"format": "routeradmin.catalog/1", "serving_models": entries})
        answer = put(stocked, body, type="application/json")
        (told,) = problem(answer, 422, "invalid_request")["errors"]
        assert told["pointer"] == "/serving_models/3/weight"
        assert [one["id"] for one in stocked.get("/deployments").json()["items"]] == ["acme-large"]

    def test_does_so_too_when_only_the_whole_shows_it(self, stocked: Api) -> None:
        entries = [make.deployment(f"new-{n}") for n in range(5)]
        entries[3]["endpoint_id"] = "nowhere"
        body = json.dumps({"format": "routeradmin.catalog/1", "serving_models": entries})
        (told,) = problem(put(stocked, body, type="application/json"), 422, "invalid_request")[
            "errors"
        ]
        assert told["pointer"] == "/serving_models/3/endpoint_id"
        assert stocked.get("/deployments").json()["total"] == 1


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/v1",
        "http://metadata.google.internal/",
        "file:///etc/passwd",
        "http://[fe80::1]/v1",
        "http://2852039166/",
        "http://10.0.0.8/v1",
    ],
)
def test_an_address_that_is_never_called_is_refused_when_it_is_saved(
    stocked: Api, url: str
) -> None:
    created = stocked.post("/endpoints", make.endpoint("x", base_url=url))
    (told,) = problem(created, 422, "invalid_request")["errors"]
    assert told["pointer"] == "/base_url"
    patched = stocked.patch("/endpoints/acme-api", {"proxy": url}, if_match="*")
    (told,) = problem(patched, 422, "invalid_request")["errors"]
    assert told["pointer"] == "/proxy"
    values = make.catalog(endpoints=[make.endpoint(base_url=url)])
    imported = put(stocked, json.dumps(values), type="application/json")
    assert "/endpoints/0/base_url" in {
        one["pointer"] for one in problem(imported, 422, "invalid_request")["errors"]
    }


def test_an_old_tab_does_not_undo_a_newer_save(stocked: Api) -> None:
    path = "/deployments/acme-large"
    tag = stocked.get(path).headers["ETag"]
    assert stocked.patch(path, {"weight": 5}, if_match=tag).status_code == 200
    problem(stocked.patch(path, {"priority": 2}, if_match=tag), 412, "stale")
    problem(stocked.patch(path, {"priority": 2}), 428, "if_match_required")
    read = stocked.get(path)
    assert (read.json()["weight"], read.json()["priority"]) == (5, 0)
    saved = stocked.patch(path, {"priority": 2}, if_match=read.headers["ETag"])
    assert (saved.json()["weight"], saved.json()["priority"]) == (5, 2)  # type: ignore[attr-defined]


def test_subscriptions_stay_among_themselves(api: Api) -> None:
    """Refused with fallback on, accepted with it off; one secret has one account."""
    oauth = {"auth_kind": "subscription-oauth", "billing_kind": "subscription"}
    values = make.catalog(
        accounts=[make.account(), make.account("sub", **oauth)],
        endpoints=[make.endpoint(), make.endpoint("sub-api", account_id="sub")],
        serving_models=[
            make.deployment(),
            make.deployment("d-sub", endpoint_id="sub-api", protocol="messages"),
        ],
        routes=[make.route(fallback_enabled=True)],
        targets=[make.target(), make.target("t-sub", serving_model_id="d-sub", position=1)],
    )

    def given(**changed: Any) -> HttpResponse:
        return put(api, json.dumps(values | changed), "?mode=replace", "application/json")

    problem(given(), 422, "invalid_request")
    assert given(routes=[make.route(fallback_enabled=False)]).status_code == 200
    sharing = [
        make.account("sub", **oauth, secret_reference_id="shared"),
        make.account("acme-key", secret_reference_id="shared"),
    ]
    problem(given(accounts=sharing, routes=[make.route()]), 422, "invalid_request")
    responses = [values["serving_models"][0], {**values["serving_models"][1]}]
    responses[1]["protocol"] = "responses"
    answer = given(serving_models=responses, routes=[make.route()])
    places = {one["pointer"] for one in problem(answer, 422, "invalid_request")["errors"]}
    assert places == {"/serving_models/1/protocol"}


def test_what_is_worth_a_look_is_counted_by_writes_and_listed(stocked: Api) -> None:
    created = stocked.post("/credentials", make.account("idle"))
    assert created.headers["X-Routeradmin-Warnings"] == "4"
    told = [one["detail"] for one in stocked.get("/catalog/warnings").json()["items"]]
    assert len(told) == 4
    assert "accounts idle: no deployment uses the credential idle" in told
    assert any(one.startswith("routes chat: chat has no eligible target now") for one in told)
    for id in ("idle", "acme-key"):
        stocked.post(f"/credentials/{id}/secret", {"secret": f"sk-{id}-0123456789"})
    answer = stocked.patch("/credentials/idle", {"name": "Idle"}, if_match="*")
    assert answer.headers["X-Routeradmin-Warnings"] == "1"


@pytest.mark.parametrize(
    ("fields", "cooldown", "told"),
    [
        ({"fallback_enabled": True}, "", "requests go on to last"),
        ({"fallback_enabled": True}, "rate-limited", "requests go on to spare"),
        ({"fallback_enabled": False}, "rate-limited", "requests are refused"),
        ({"fallback_enabled": False, "when_exhausted": "least_bad"}, "", "requests are refused"),
        (
            {"fallback_enabled": False, "when_exhausted": "least_bad"},
            "transient",
            "requests go to the one that recovers first",
        ),
    ],
)
def test_a_route_without_anybody_says_where_its_requests_go(
    api: Api, runtime: Runtime, fields: dict[str, Any], cooldown: str, told: str
) -> None:
    """By what keeps the targets back: a cooldown, or with none of that a missing secret."""
    lists = {"rate_limit": ["spare"], "general": ["chat", "last"], "context_window": ["long"]}
    further = ("spare", "last", "long")
    values = make.catalog(
        policies=[{"id": "further", "fallback": lists}],
        routes=[
            make.route(policy_id="further", **fields),
            *(make.route(id) for id in further),
        ],
        targets=[make.target(), *(make.target(f"{id}-1", route_id=id) for id in further)],
    )
    answer = put(api, json.dumps(values), "?mode=replace", "application/json")
    assert answer.status_code == 200, answer.content
    if cooldown:
        api.post("/credentials/acme-key/secret", {"secret": "sk-acme-0123456789"})
        (candidate,) = runtime.current.snapshot.routes["chat"].candidates
        state, now = runtime.store.of(candidate), runtime.clock()
        state.cooldown = Cooldown(FailureClass(cooldown), now, now + 60, 1, "result")
        state.cooldown_until, state.suspect = now + 60, True
    found = [one["detail"] for one in api.get("/catalog/warnings").json()["items"]]
    why = "cooling-down" if cooldown else "no-secret"
    assert f"routes chat: chat has no eligible target now ({why}): {told}" in found


class TestARollback:
    def test_is_tried_before_it_is_done(self, stocked: Api) -> None:
        before = stocked.get("/catalog").content
        stocked.patch("/deployments/acme-large", {"weight": 9}, if_match="*")
        tried = stocked.post("/revisions/1/rollback?dry_run=true").json()
        assert (tried["changed"], tried["dry_run"], tried["revision"]) == (True, True, 2)
        assert tried["diff"]["text"] == "~ serving_models acme-large: weight 9 -> 1"
        assert stocked.get("/revisions").json()["total"] == 2
        done = stocked.post("/revisions/1/rollback").json()
        assert (done["diff"], done["revision"]) == (tried["diff"], 3)
        assert stocked.get("/catalog").content == before

    def test_keeps_with_it_how_things_stood(self, stocked: Api) -> None:
        stocked.post("/cooldowns", {"deployment": "acme-large", "seconds": 60})
        stocked.patch("/deployments/acme-large", {"weight": 9}, if_match="*")
        assert stocked.get("/revisions/2").json()["health"] == {"cooling": 1}


class TestTheAuditAsAFile:
    @pytest.fixture
    def audited(self, stocked: Api) -> Api:
        stocked.post("/providers", make.provider("x"), x_routeradmin_reason="=1+1, says ada")
        stocked.patch("/providers/x", {"tags": ["eu"]}, if_match="*")
        return stocked

    def test_holds_every_entry_oldest_first(self, audited: Api) -> None:
        listed = audited.get("/audit").json()["items"]
        answer = audited.get("/audit/export?format=json")
        assert answer.json() == listed[::-1]  # type: ignore[attr-defined]
        assert 'filename="audit.json"' in answer.headers["Content-Disposition"]

    def test_is_a_table_by_default_that_no_spreadsheet_runs(self, audited: Api) -> None:
        answer = audited.get("/audit/export?kind=providers")
        assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
        rows = list(csv.DictReader(io.StringIO(answer.content.decode())))
        assert [row["action"] for row in rows] == ["create", "update"]
        assert rows[0]["reason"] == "'=1+1, says ada"
        assert rows[0]["actor"] == "key:tests"
        assert rows[0]["source"] == "127.0.0.1"
        assert json.loads(rows[1]["changes"]) == {"tags": [[], ["eu"]]}

    @pytest.mark.parametrize("query", ["format=xml", "colour=red", "since=yesterday", "limit=5"])
    def test_is_asked_for_in_words_it_knows(self, audited: Api, query: str) -> None:
        problem(audited.get(f"/audit/export?{query}"), 422, "invalid_request")


def test_an_exported_catalog_put_back_is_the_same_to_the_byte(full: Api) -> None:
    exported = full.get("/catalog").content
    answer = put(full, exported, "?mode=replace", "application/toml")
    assert answer.json()["changed"] is False
    assert full.get("/catalog").content == exported == write(make.document(make.full_catalog()))


def test_the_document_names_every_format_that_is_read() -> None:
    assert get_args(FileFormat) == FORMATS
