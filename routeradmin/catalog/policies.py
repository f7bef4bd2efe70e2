"""The tables of a policy (semantics: failures and cooldowns, running a turn)."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, model_validator

from routeradmin.catalog.fields import (
    FailureClass,
    Ident,
    Idents,
    Name,
    Seconds,
    SomeSeconds,
    refuse,
)
from routeradmin.catalog.table import Table

Rounds = Annotated[int, Field(ge=1, le=16)]
Threshold = Annotated[int, Field(ge=1, le=1_000_000)]


class Retry(Table):
    """Rounds of one tier and the waits between them."""

    max_attempts: Rounds = 4
    stream_max_attempts: Rounds | None = None
    backoff_base_ms: Annotated[int, Field(ge=0, le=3_600_000)] = 500
    max_doublings: Annotated[int, Field(ge=0, le=32)] = 4
    max_server_delay_s: Seconds = 30
    jitter: Annotated[float, Field(ge=0, le=1)] = 0

    def implied(self) -> dict[str, Any]:
        return {"stream_max_attempts": self.max_attempts}


class Turn(Table):
    """Bounds of one turn as a whole."""

    max_targets: Annotated[int, Field(ge=1, le=64)] = 64
    max_turn_attempts: Annotated[int, Field(ge=1, le=1024)] = 32
    deadline_s: SomeSeconds | None = None
    max_fallback_routes: Annotated[int, Field(ge=0, le=64)] = 5
    rotate: bool = True
    replay_unanswered: bool = True
    move_on_unauthorized: bool = False


class CooldownRules(Table):
    """Lengths and thresholds of cooldowns."""

    enabled: bool = True
    rate_limited_base_s: SomeSeconds = 1
    rate_limited_cap_s: SomeSeconds = 1800
    quota_s: Seconds = 1800
    unauthorized_s: Seconds = 1800
    not_found_s: Seconds = 1800
    transient_base_s: SomeSeconds = 5
    transient_cap_s: SomeSeconds = 60
    allowed_fails: Threshold = 3
    min_requests: Threshold = 10
    success_threshold: Threshold = 3


class Fallback(Table):
    """Route ids to go on with, by the class of the last failure. None: no list was given."""

    general: Idents | None = None
    context_window: Idents | None = None
    content_policy: Idents | None = None
    rate_limit: Idents | None = None


class Classify(Table):
    """Every condition given must hold; the first rule that holds decides the class."""

    status: Annotated[int, Field(ge=100, le=599)] | None = None
    code: Name | None = None
    contains: Name | None = None
    failure_class: FailureClass = Field(alias="class")

    @model_validator(mode="after")
    def _has_a_condition(self) -> Classify:
        if self.status is None and self.code is None and self.contains is None:
            raise refuse("classify", "needs at least one of status, code and contains")
        return self


class Policy(Table):
    """Rules shared by routes."""

    id: Ident
    name: Name | None = None
    retry: Retry = Field(default_factory=Retry)
    turn: Turn = Field(default_factory=Turn)
    cooldown: CooldownRules = Field(default_factory=CooldownRules)
    fallback: Fallback = Field(default_factory=Fallback)
    classify: Annotated[tuple[Classify, ...], Field(strict=False)] = ()

    def implied(self) -> dict[str, Any]:
        return {"name": self.id}
