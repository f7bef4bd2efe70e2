"""A walk over the whole document with bodies made from its schemas, and worse ones."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlencode

import pytest
from django.test import Client
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from routeradmin.api.access import Needs
from routeradmin.api.application import api as ninja
from tests.api.client import Api
from tests.api.test_rights import operations

KNOWN = ("acme", "acme-key", "acme-api", "large", "acme-large", "chat", "talk", "careful", "1", "2")
known = st.sampled_from(KNOWN)
ids = st.one_of(known, known, known, known, st.text(min_size=1, max_size=8))
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=8),
    st.sampled_from(KNOWN),
)
anything = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=8,
)
SCHEMAS: dict[str, Any] = ninja.get_openapi_schema(path_prefix="/api/v1/")["components"]["schemas"]


def values(schema: dict[str, Any], depth: int = 0) -> st.SearchStrategy[Any]:
    """Mostly what the schema asks for."""
    if "$ref" in schema:
        return values(SCHEMAS[schema["$ref"].rsplit("/", 1)[1]], depth + 1)
    for word in ("anyOf", "allOf", "oneOf"):
        if word in schema:
            return st.one_of([values(one, depth) for one in schema[word]])
    if "enum" in schema or "const" in schema:
        return st.sampled_from(schema.get("enum", [schema.get("const")]))
    kind = schema.get("type")
    if kind == "object" and "properties" in schema:
        fields = {name: values(one, depth + 1) for name, one in schema["properties"].items()}
        needed = {name: fields.pop(name) for name in schema.get("required", ())}
        return st.fixed_dictionaries(needed, optional=fields)
    if kind == "array":
        return st.lists(values(schema.get("items", {}), depth + 1), max_size=2)
    return {
        "string": ids,
        "boolean": st.booleans(),
        "null": st.none(),
        "integer": st.integers(schema.get("minimum", -2), schema.get("maximum", 2**31)),
        "number": st.floats(0, 1e6),
        "object": st.dictionaries(ids, ids, max_size=2),
    }.get(str(kind), anything)


@st.composite
def requests(draw: st.DrawFn) -> tuple[str, str, Any, dict[str, str]]:
    """Method, path below /api/v1, body, headers."""
    method, path, details = draw(st.sampled_from(operations()))
    query = {}
    for parameter in details.get("parameters", ()):
        name = parameter["name"]
        if parameter["in"] == "path":
            path = path.replace(f"{{{name}}}", quote(str(draw(ids)), safe="/"))
        elif parameter["in"] == "query" and draw(st.integers(0, 7)) == 0:
            query[name] = draw(st.one_of(values(parameter["schema"]), st.text(max_size=8)))
    if query:
        text = {name: str(value).encode("utf-8", "replace") for name, value in query.items()}
        path = f"{path}?{urlencode(text)}"
    content = details.get("requestBody", {}).get("content", {}).get("application/json")
    body = None
    if content is not None:
        body = draw(st.one_of(values(content["schema"]), values(content["schema"]), anything))
    headers = draw(st.sampled_from([{"if_match": "*"}, {"if_match": "*"}, {"if_match": '"1"'}, {}]))
    return method, path, body, headers


LOOKING = ("/probe", "/test")  # these call out: their own tests have a provider


@settings(
    max_examples=500,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(sent=requests())
@example(sent=("POST", "/deployments/acme-large/drain", {"limit_s": 1e-300}, {}))
@example(sent=("POST", "/deployments/acme-large/drain", {"limit_s": 31536000.0}, {}))
@example(sent=("POST", "/cooldowns", {"deployment": "acme-large", "seconds": 1e-300}, {}))
@example(sent=("POST", "/keys", {"name": "x", "scopes": ["read"], "rpm_limit": 2**63 - 1}, {}))
@example(sent=("POST", "/keys", {"name": "x", "scopes": ["read"], "rpm_limit": 2**63}, {}))
def test_nothing_that_is_sent_makes_the_server_fail(
    full: Api, sent: tuple[str, str, Any, dict[str, str]]
) -> None:
    method, path, body, headers = sent
    if path.partition("?")[0].endswith(LOOKING):
        return
    answer = full.call(method, path, body, **headers)
    assert answer.status_code < 500, answer.content
    if answer.status_code >= 400:
        assert answer.headers["Content-Type"] == "application/problem+json"
        assert answer.json()["status"] == answer.status_code  # type: ignore[attr-defined]


def readings() -> list[Any]:
    """(path, type of the answer) of every GET that takes no path parameter."""
    return [
        pytest.param(
            f"/{bound.prefix.strip('/')}{path}",
            operation.response_models[200].model_fields["response"].annotation,
            id=bound.prefix + path,
        )
        for bound in ninja._get_bound_routers()
        for path, view in bound.path_operations.items()
        for operation in view.operations
        if operation.methods == ["GET"] and "{" not in path and path != "/export"
        if "catalog" not in bound.prefix
    ]


MAY_BE_EMPTY = ("/turns", "/intents/feedback", "/webhooks", "/incidents", "/incidents/open")


@pytest.mark.parametrize(("path", "answered"), readings())
def test_an_answer_is_what_the_document_says(full: Api, path: str, answered: Any) -> None:
    full.post("/cooldowns", {"deployment": "acme-second", "seconds": 60})
    full.post("/users", {"username": "bob", "password": "correct horse battery staple"})
    answer = full.get(path)
    assert answer.status_code == 200
    assert path in MAY_BE_EMPTY or answer.json().get("items") != []  # type: ignore[attr-defined]
    TypeAdapter(answered).validate_json(answer.content)


def test_every_operation_asks_who_calls() -> None:
    for bound in ninja._get_bound_routers():
        for view in bound.path_operations.values():
            for operation in view.operations:
                assert any(isinstance(one, Needs) for one in operation.auth_callbacks)


def test_the_document_and_its_page_are_open_and_come_from_here() -> None:
    client = Client()
    document = client.get("/api/v1/openapi.json")
    assert document.status_code == 200
    page = client.get("/api/v1/docs")
    assert page.status_code == 200
    assert b"/static/ninja/swagger-ui-bundle.js" in page.content
    assert b"http://" not in page.content
    assert b"https://" not in page.content
    assert "'unsafe-inline'" not in page.headers["Content-Security-Policy"].partition("style")[0]
