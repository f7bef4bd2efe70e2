"""The decision API's messages: one schema each, used by every plane that speaks them.

Shapes are those of the HTTP contract. Unknown fields are refused; numbers given as text too.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from routeradmin.engine.preferences import Preferences

Capability = Literal["tools", "vision", "audio", "embeddings", "json_schema"]
Api = Literal["chat-completions", "responses", "messages", "completions", "embeddings"]


class Message(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


Word = Annotated[str, Field(min_length=1, max_length=256)]


class Wishes(Message):
    """Client preferences in OpenRouter's words; valid inside what the route permits."""

    order: list[Word] = Field(default_factory=list, max_length=64)
    only: list[Word] = Field(default_factory=list, max_length=64)
    ignore: list[Word] = Field(default_factory=list, max_length=64)
    allow_fallbacks: bool = True
    sort: Literal["price", "latency", "throughput"] | None = None

    def as_preferences(self) -> Preferences:
        return Preferences(
            tuple(self.order),
            tuple(self.only),
            tuple(self.ignore),
            self.allow_fallbacks,
            self.sort,
        )


class Select(Message):
    """What a caller needs of a deployment. Only ``model`` is required.

    ``text`` is what ``auto`` is decided by; it is not kept, logged or shown.
    """

    model: str = Field(min_length=1, max_length=1024)
    input_tokens: int | None = Field(None, ge=0, le=2**53)
    max_output_tokens: int | None = Field(None, ge=0, le=2**53)
    requires: list[Capability] = Field(default_factory=list, max_length=16)
    tool_choice: Annotated[str, Field(max_length=256)] | dict[str, Any] | None = None
    temperature: float | None = Field(None, ge=0, le=2)
    top_p: float | None = Field(None, ge=0, le=1)
    reasoning_effort: str | None = Field(None, min_length=1, max_length=64)
    exclude: list[str] = Field(default_factory=list, max_length=65536)
    session: str | None = Field(None, max_length=1024)
    tags: list[Annotated[str, Field(max_length=256)]] = Field(default_factory=list, max_length=64)
    api: Api | None = None
    lease_ttl_s: float = Field(120, ge=1, le=3600)
    turn: str | None = Field(None, max_length=128)
    preferences: Wishes | None = None
    text: str | None = Field(None, max_length=1_000_000, repr=False)
    secret: bool = False
    explain: bool = False


class Fenced(Message):
    """A message about a lease; ``generation`` guards against a late holder."""

    generation: int | None = None


class Report(Fenced):
    """How the attempt ended. Counts in this order: error_class, status, outcome."""

    outcome: Literal["success", "failure", "cancelled"]
    status: int | None = Field(None, ge=100, le=599)
    error_class: (
        Literal[
            "rate-limited",
            "quota",
            "unauthorized",
            "not-found",
            "transient",
            "content-policy",
            "context-window",
            "caller",
            "refused",
            "cancelled",
            "deadline",
        ]
        | None
    ) = None
    dispatch: Literal["not-sent", "rejected", "unknown", "accepted"] | None = None
    retry_after: str | int | float | None = None
    visible_output: bool = False
    latency_ms: float | None = Field(None, ge=0, le=86_400_000)
    ttft_ms: float | None = Field(None, ge=0, le=86_400_000)
    input_tokens: int | None = Field(None, ge=0, le=2**53)
    output_tokens: int | None = Field(None, ge=0, le=2**53)
    message: str | None = Field(None, max_length=65_536)


class Renew(Fenced):
    lease_ttl_s: float = Field(120, ge=1, le=3600)


class Release(Fenced):
    pass


class Assumed(Message):
    """State to assume of one candidate in a simulation; what is absent stays as it is."""

    cooling: bool | None = None
    unhealthy: bool | None = None
    disabled: bool | None = None
    active: int | None = Field(None, ge=0, le=2**31 - 1)
    rpm: int | None = Field(None, ge=0, le=2**31 - 1)
    tpm: int | None = Field(None, ge=0, le=2**53)


class Simulate(Select):
    overlay: dict[str, Assumed] = Field(default_factory=dict)
    draws: int = Field(1000, ge=1, le=10_000)
    seed: int = Field(0, ge=0, le=2**63 - 1)
