"""What the OpenAPI document says of the paths that bare ASGI serves: decisions and inference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from routeradmin.api import decision_answers as answers
from routeradmin.services import messages

Refer = Callable[[type[BaseModel]], dict[str, str]]


@dataclass(frozen=True, slots=True)
class Path:
    """One operation: its scopes (any of them), its message and its answer where they are ours."""

    method: str
    path: str
    name: str
    summary: str
    scopes: tuple[str, ...] = ()
    message: type[BaseModel] | None = None
    answer: type[BaseModel] | None = None
    tag: str = "decisions"
    media_type: str = "application/json"


LEASE = "/api/v1/leases/{lease_id}"
DECISIONS = (
    Path(
        "post",
        "/api/v1/select",
        "select",
        "Choose a deployment and reserve it",
        ("select",),
        messages.Select,
        answers.Selected,
    ),
    Path(
        "post",
        f"{LEASE}/report",
        "report",
        "Say how the attempt ended, learn what to do next",
        ("select",),
        messages.Report,
        answers.Reported,
    ),
    Path(
        "post",
        f"{LEASE}/renew",
        "renew",
        "Keep a lease longer",
        ("select",),
        messages.Renew,
        answers.Renewed,
    ),
    Path(
        "post",
        f"{LEASE}/release",
        "release",
        "Give a lease back without an outcome",
        ("select",),
        messages.Release,
        answers.Released,
    ),
    Path(
        "post",
        "/api/v1/explain",
        "explain",
        "Every candidate with its reasons; reserves nothing",
        ("select", "read"),
        messages.Select,
        answers.Explained,
    ),
    Path(
        "post",
        "/api/v1/simulate",
        "simulate",
        "The distribution over many draws, with states assumed",
        ("select", "read"),
        messages.Simulate,
        answers.Simulated,
    ),
)
INFERENCE = tuple(
    Path(method, path, name, summary, ("inference",), message, tag="inference")
    for method, path, name, summary, message in (
        ("get", "/v1/models", "list_served_models", "The names that may be asked for", None),
        ("get", "/v1/models/{id}", "get_served_model", "One of them", None),
        ("post", "/v1/chat/completions", "chat", "OpenAI chat completion", answers.Inference),
        ("post", "/v1/completions", "complete", "OpenAI completion", answers.Inference),
        ("post", "/v1/embeddings", "embed", "OpenAI embeddings", answers.Inference),
        ("post", "/v1/responses", "respond", "OpenAI response", answers.Inference),
        ("post", "/v1/messages", "message", "Anthropic message", answers.Inference),
        (
            "post",
            "/v1/messages/count_tokens",
            "count_tokens",
            "Anthropic token count",
            answers.Inference,
        ),
    )
)
OPERATION = (
    Path("get", "/healthz", "healthz", "The process answers", tag="operation"),
    Path("get", "/readyz", "readyz", "A snapshot is in force", tag="operation"),
    Path(
        "get",
        "/metrics",
        "metrics",
        "Prometheus metrics",
        ("read",),
        tag="operation",
        media_type="text/plain",
    ),
)
ALL = (*DECISIONS, *INFERENCE, *OPERATION)


def paths(refer: Refer) -> dict[str, Any]:
    """The OpenAPI path items; ``refer`` keeps a model's schema and gives its reference."""
    found: dict[str, Any] = {}
    for entry in ALL:
        found.setdefault(entry.path, {})[entry.method] = _operation(entry, refer)
    return found


def _operation(entry: Path, refer: Refer) -> dict[str, Any]:
    schema: dict[str, Any] = refer(entry.answer) if entry.answer else {}
    operation: dict[str, Any] = {
        "operationId": entry.name,
        "summary": entry.summary,
        "tags": [entry.tag],
        "parameters": [_parameter(part) for part in entry.path.split("{")[1:]],
        "responses": {
            200: {"description": "OK", "content": {entry.media_type: {"schema": schema}}},
        },
        "security": [],
    }
    if entry.scopes:
        operation["x-required-scope"] = " or ".join(entry.scopes)
        operation["security"] = [{"bearer": []}, {"api_key": []}]
        operation["responses"]["4XX"] = _refused(refer, "The request was refused.")
        operation["responses"]["5XX"] = _refused(refer, "No deployment could serve it.")
    if entry.message:
        content = {"application/json": {"schema": refer(entry.message)}}
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _parameter(part: str) -> dict[str, Any]:
    name = part.partition("}")[0]
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}


def _refused(refer: Refer, description: str) -> dict[str, Any]:
    content = {"application/json": {"schema": refer(answers.ErrorAnswer)}}
    return {"description": description, "content": content}
