"""A client of the management API: the real Django stack, an API key, JSON both ways."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from django.http import HttpResponse
from django.test import Client

from routeradmin.access.models import Scope
from routeradmin.services import changes
from routeradmin.services.changes import Actor

BY = Actor("user:tests", "127.0.0.1")
EVERY_SCOPE = tuple(Scope.values)


def key_with(*scopes: str, name: str = "tests") -> str:
    """The text of a new key."""
    _, token = changes.create_key({"name": name, "scopes": list(scopes)}, BY)
    return token


@dataclass
class Api:
    """Paths are below ``/api/v1``. A body that is no text or bytes goes as JSON."""

    token: str = ""
    client: Client = field(default_factory=Client)

    def call(
        self, method: str, path: str, body: Any = None, /, *, type: str = "", **headers: str
    ) -> HttpResponse:
        if self.token:
            headers.setdefault("authorization", f"Bearer {self.token}")
        data = body if isinstance(body, (bytes, str)) else json.dumps(body)
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.client.generic(  # type: ignore[return-value]
            method,
            f"/api/v1{path}",
            "" if body is None else data,
            content_type=type or ("application/json" if body is not None else ""),
            headers=sent,
        )

    def get(self, path: str, **headers: str) -> HttpResponse:
        return self.call("GET", path, **headers)

    def post(self, path: str, body: Any = None, **headers: str) -> HttpResponse:
        return self.call("POST", path, body, **headers)

    def patch(self, path: str, body: Any, **headers: str) -> HttpResponse:
        return self.call("PATCH", path, body, **headers)

    def put(self, path: str, body: Any, **headers: str) -> HttpResponse:
        return self.call("PUT", path, body, **headers)

    def delete(self, path: str, **headers: str) -> HttpResponse:
        return self.call("DELETE", path, **headers)


def problem(answer: HttpResponse, status: int, code: str) -> dict[str, Any]:
    """The problem document, after a look that it is one."""
    assert answer.status_code == status, answer.content
    assert answer.headers["Content-Type"] == "application/problem+json"
    content: dict[str, Any] = answer.json()  # type: ignore[attr-defined]
    assert content["status"] == status
    assert content["code"] == code, content
    assert content["type"] == f"urn:routeradmin:problem:{code}"
    assert content["title"]
    assert content["detail"]
    assert all(set(place) == {"pointer", "detail"} for place in content["errors"])
    return content
