"""The numbers of a policy: retry, turn, cooldown, fallback, classification."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Rounds of one tier and the waits between them (semantics: running a turn)."""

    max_attempts: int = 4
    stream_max_attempts: int | None = None  # None: the same as max_attempts
    backoff_base_ms: int = 500
    max_doublings: int = 4
    max_server_delay_s: float = 30.0
    jitter: float = 0.0  # 0..1, share of the wait that is random


@dataclass(frozen=True, slots=True)
class TurnPolicy:
    """Bounds of one turn as a whole."""

    max_targets: int = 64
    max_turn_attempts: int = 32
    deadline_s: float | None = None
    max_fallback_routes: int = 5
    rotate: bool = True
    replay_unanswered: bool = True
    move_on_unauthorized: bool = False


@dataclass(frozen=True, slots=True)
class CooldownPolicy:
    """Lengths and thresholds of cooldowns (semantics: failures and cooldowns)."""

    enabled: bool = True
    rate_limited_base_s: float = 1.0
    rate_limited_cap_s: float = 1800.0  # also caps every upstream hint
    quota_s: float = 1800.0
    unauthorized_s: float = 1800.0
    not_found_s: float = 1800.0
    transient_base_s: float = 5.0
    transient_cap_s: float = 60.0
    allowed_fails: int = 3
    min_requests: int = 10
    success_threshold: int = 3


@dataclass(frozen=True, slots=True)
class FallbackLists:
    """Route ids to go on with, by the class of the last failure. None: no list was given."""

    general: tuple[str, ...] | None = None
    context_window: tuple[str, ...] | None = None
    content_policy: tuple[str, ...] | None = None
    rate_limit: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class ClassifyRule:
    """An operator's rule: every given condition must hold; the first rule that holds decides."""

    failure_class: str
    status: int | None = None
    code: str | None = None
    contains: str | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    """Rules shared by routes; ``id`` is empty for the built-in default."""

    id: str = ""
    name: str = "default"
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    turn: TurnPolicy = field(default_factory=TurnPolicy)
    cooldown: CooldownPolicy = field(default_factory=CooldownPolicy)
    fallback: FallbackLists = field(default_factory=FallbackLists)
    classify: tuple[ClassifyRule, ...] = ()


DEFAULT_POLICY = Policy()


def disabled() -> Policy:
    """One attempt in total: no retry, no other target."""
    return Policy(
        name="disabled",
        retry=RetryPolicy(max_attempts=1, stream_max_attempts=1),
        turn=TurnPolicy(max_targets=1, max_turn_attempts=1),
    )
