"""The compiled, immutable catalog of one revision: the only thing the hot path reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from routeradmin.engine.objects import (
    AdminState,
    Credential,
    Deployment,
    Rule,
    Target,
    WhenExhausted,
)
from routeradmin.engine.policy import DEFAULT_POLICY, Policy
from routeradmin.engine.state import CandidateKey


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A (deployment, credential) pair inside a route's tier: the unit of selection."""

    key: CandidateKey
    target: Target
    credential: Credential
    upstream_name: str
    binding_revision: str

    @property
    def deployment(self) -> Deployment:
        return self.target.deployment


@dataclass(frozen=True, slots=True, eq=False)
class Tier:
    """Candidates that share a position, in candidate order (target id, then credential id)."""

    index: int
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Route:
    """A public model name with its strategy, tiers in position order, and policy."""

    id: str
    alias: str
    tiers: tuple[Tier, ...]
    strategy: str
    policy: Policy = DEFAULT_POLICY
    name: str = ""
    fallback_enabled: bool = False
    when_exhausted: WhenExhausted = WhenExhausted.FAIL
    max_wait_s: float = 0.0
    affinity_ttl_s: float = 0.0
    preview: tuple[Candidate, ...] = ()
    admin_state: AdminState = AdminState.ENABLED
    tags: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()


@dataclass(frozen=True, slots=True)
class Defaults:
    strategy: str = "simple_shuffle"
    policy_id: str | None = None
    auto_priority: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """One revision, whole. ``config_digest`` is the canonical document's SHA-256."""

    revision: int
    config_digest: str
    routes: Mapping[str, Route] = field(default_factory=dict)  # by id
    names: Mapping[str, str] = field(default_factory=dict)  # exact alias or alias name -> route id
    patterns: Sequence[tuple[str, str]] = ()  # (alias with one *, route id), longest literal first
    deployments: Mapping[str, Deployment] = field(default_factory=dict)
    policies: Mapping[str, Policy] = field(default_factory=dict)
    defaults: Defaults = field(default_factory=Defaults)
    bindings: Mapping[tuple[str, str], str] = field(default_factory=dict)


EMPTY = Snapshot(revision=0, config_digest="")
