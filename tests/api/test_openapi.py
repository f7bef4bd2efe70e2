"""The OpenAPI document: both planes, every refusal, no loose reference."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from pydantic import BaseModel

from routeradmin.api import dataplane_paths
from routeradmin.api import decision_answers as answers
from routeradmin.api.application import api as ninja
from routeradmin.dataplane.app import DataPlane, claims
from routeradmin.services.runtime import Runtime
from tests.api.client import Api

DOCUMENT: dict[str, Any] = dict(ninja.get_openapi_schema(path_prefix="/api/v1/"))
METHODS = ("get", "post", "put", "patch", "delete")


def operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, item in DOCUMENT["paths"].items():
        for method, details in item.items():
            assert method in METHODS
            yield method, path, details


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if name == "$ref":
                yield inner
            else:
                yield from references(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from references(inner)


def test_every_reference_leads_somewhere() -> None:
    known = {f"#/components/schemas/{name}" for name in DOCUMENT["components"]["schemas"]}
    assert set(references(DOCUMENT)) <= known


def test_operations_have_ids_of_their_own() -> None:
    found = [details["operationId"] for _, _, details in operations()]
    assert len(found) == len(set(found))
    assert all("_" in one or one.isalpha() for one in found)


def test_every_operation_says_what_it_does_and_what_it_asks_for() -> None:
    for _, path, details in operations():
        assert details["summary"], path
        assert details["tags"], path
        assert details["responses"], path
        if path not in ("/healthz", "/readyz"):
            assert details["x-required-scope"], path
            assert {"bearer": []} in details["security"], path


@pytest.mark.parametrize("entry", dataplane_paths.ALL, ids=lambda entry: entry.path)
def test_the_data_plane_is_in_it_and_serves_those_paths(entry: dataplane_paths.Path) -> None:
    assert entry.method in DOCUMENT["paths"][entry.path]
    assert claims(entry.path.replace("{lease_id}", "x").replace("{id}", "x"))


def test_a_select_body_is_the_data_planes_own_message() -> None:
    schema = DOCUMENT["components"]["schemas"]["Select"]
    assert schema["required"] == ["model"]
    assert schema["additionalProperties"] is False
    assert set(schema["properties"]) >= {"model", "input_tokens", "requires", "lease_ttl_s"}


def test_decisions_answer_in_the_shapes_that_are_documented(stocked: Api, runtime: Runtime) -> None:
    """Unknown members fail too: what is answered is documented."""

    def decide(path: str, body: dict[str, Any]) -> Any:
        told: list[Any] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": orjson.dumps(body), "more_body": False}

        async def send(message: Any) -> None:
            told.append(message)

        headers = [(b"authorization", f"Bearer {stocked.token}".encode())]
        scope = {"type": "http", "method": "POST", "path": path, "headers": headers}
        asyncio.run(DataPlane(lambda: runtime)(scope, receive, send))
        assert told[0]["status"] == 200, told
        return orjson.loads(told[1]["body"])

    lease = decide("/api/v1/select", {"model": "chat", "explain": True})
    fits(answers.Selected, lease)
    place = f"/api/v1/leases/{lease['lease_id']}"
    fits(answers.Renewed, decide(f"{place}/renew", {"lease_ttl_s": 60}))
    report = {"outcome": "failure", "status": 429, "retry_after": "20"}
    fits(answers.Reported, decide(f"{place}/report", report))
    fits(answers.Released, decide(f"{place}/release", {}))
    fits(answers.Explained, decide("/api/v1/explain", {"model": "chat"}))
    fits(answers.Simulated, decide("/api/v1/simulate", {"model": "chat", "draws": 10}))


def fits(model: type[BaseModel], content: Any) -> None:
    found = model.model_validate(content)
    assert found.model_dump(mode="json", exclude_unset=True) == content


def test_conditional_writes_name_their_condition() -> None:
    for method, path, details in operations():
        if method in ("put", "patch", "delete") and path != "/api/v1/cooldowns":
            names = [one["name"] for one in details["parameters"]]
            assert "If-Match" in names, path
            assert {412, 428} <= set(details["responses"]), path


def test_refusals_are_problem_documents() -> None:
    for _, path, details in operations():
        if not path.startswith("/api/v1") or "decisions" in details["tags"]:
            continue
        for status, answer in details["responses"].items():
            if int(status) >= 400:
                assert list(answer["content"]) == ["application/problem+json"], path


def test_secrets_are_written_only() -> None:
    for name, schema in DOCUMENT["components"]["schemas"].items():
        for field, details in schema.get("properties", {}).items():
            if field in ("secret", "password") and name not in ("Auth", "Select", "Simulate"):
                assert details.get("writeOnly"), (name, field)
