"""The shapes of the decision API's answers, for the OpenAPI document (HTTP contract)."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict


class Auth(BaseModel):
    """How the upstream wants to be addressed; ``secret`` only where the body asked for it."""

    kind: str
    header: str | None
    secret: str | None


class Selected(BaseModel):
    """A lease on one deployment with one credential."""

    lease_id: str
    generation: int
    expires_at: str
    turn: str
    attempt: int
    route: str
    deployment: str
    credential: str
    provider: str
    model: str
    protocol: str
    base_url: str
    auth: Auth
    strategy: str
    revision: int
    config_digest: str
    explanation: Explained | None


class Next(BaseModel):
    """What the turn rule advises: ``wait_ms`` counts before a retry."""

    action: Literal["done", "retry", "next", "stop"]
    wait_ms: int
    halt: str | None


class CooldownSet(BaseModel):
    reason: str
    until: str
    level: int


class Reported(BaseModel):
    released: bool
    cooldown: CooldownSet | None
    next: Next


class Renewed(BaseModel):
    model_config = ConfigDict(extra="allow")

    lease_id: str
    expires_at: str


class Released(BaseModel):
    """False the second time."""

    released: bool


class ExplainedTarget(BaseModel):
    """One candidate with all its reasons; an empty list means it may be used."""

    target_id: str
    serving_model_id: str
    credential_id: str
    position: int
    provenance: dict[str, str]
    auth_kind: str
    billing_kind: str
    capabilities: dict[str, Any]
    rejections: list[str]
    runtime: dict[str, Any]


class FallbackRoute(BaseModel):
    """Where a turn goes on: ``usable`` of its ``candidates`` may be used now."""

    route_id: str
    alias: str
    usable: int
    candidates: int


class Explained(BaseModel):
    """The last six are there only where they had a say: how ``auto`` was decided, the rule that
    holds, the client's preferences and what was dropped of them, the session's binding, a custom
    selector that made no choice, and the policy's fallback routes where nobody was selected."""

    route_id: str
    alias: str
    config_digest: str
    revision: int
    input_tokens: int | None
    selected_target_id: str | None
    selected_credential_id: str | None
    targets: list[ExplainedTarget]
    intent: dict[str, Any] | None = None
    rule: dict[str, Any] | None = None
    preferences: dict[str, Any] | None = None
    affinity: dict[str, Any] | None = None
    selector: dict[str, Any] | None = None
    fallback_routes: list[FallbackRoute] | None = None


class Simulated(BaseModel):
    """``shares`` is keyed by candidate id; ``refused`` counts the draws that chose nobody."""

    shares: dict[str, float]
    refused: int
    explanation: Explained


class Inference(BaseModel):
    """A request in the dialect of its path; unknown fields are passed on."""

    model_config = ConfigDict(extra="allow")

    model: str
    stream: bool = False


class ErrorDetail(BaseModel):
    model_config = ConfigDict(extra="allow")

    message: str
    type: str
    param: str | None
    code: str


class ErrorAnswer(BaseModel):
    """The OpenAI error shape of the decision and inference paths."""

    error: ErrorDetail
