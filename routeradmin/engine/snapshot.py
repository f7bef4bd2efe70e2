"""The compiled, immutable catalog of one revision: the only thing the hot path reads.

Caches inside (tables per requirement, routes derived from patterns) never change an answer; they
are bounded, live and die with the snapshot.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from routeradmin.engine import eligibility
from routeradmin.engine.intents import Matrix
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
from routeradmin.engine.strategies import simple_shuffle
from routeradmin.engine.tables import Table

if TYPE_CHECKING:
    from routeradmin.engine.request import SelectRequest
    from routeradmin.engine.strategies import Selector, Strategy

TABLES_PER_TIER = 32


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Candidate:
    """A (deployment, credential) pair inside a route's tier: the unit of selection.

    The fields from ``deployment`` on repeat the target's, for the hot path. ``shut``: a limit is
    0, so that it admits nothing. ``enabled``: whether people want it used; that a drain's time
    is over only changes the word for it, so time plays no part.
    """

    key: CandidateKey
    target: Target
    credential: Credential
    upstream_name: str
    binding_revision: str
    tier: int = 0
    route_admin_state: AdminState = AdminState.ENABLED
    secret_missing: bool = False
    assumed_admin: AdminState | None = None  # simulations only: in place of what people want
    deployment: Deployment = field(init=False, repr=False)
    max_parallel: int | None = field(init=False, repr=False)
    rpm_limit: int | None = field(init=False, repr=False)
    tpm_limit: int | None = field(init=False, repr=False)
    shut: bool = field(init=False, repr=False)
    enabled: bool = field(init=False, repr=False)

    def __post_init__(self) -> None:
        deployment = self.target.deployment
        limits = (deployment.max_parallel_requests, deployment.rpm_limit, deployment.tpm_limit)
        names = ("max_parallel", "rpm_limit", "tpm_limit")
        for name, limit in zip(names, limits, strict=True):
            object.__setattr__(self, name, limit)
        object.__setattr__(self, "deployment", deployment)
        object.__setattr__(self, "shut", 0 in limits)
        wanted = eligibility.admin_state(self, 0.0)
        object.__setattr__(self, "enabled", wanted is AdminState.ENABLED)


class Tier:
    """Candidates that share a position, in candidate order (target id, then credential id).

    ``cursor`` names the round-robin cursor of the resolved route and this tier.
    """

    def __init__(self, index: int, candidates: Sequence[Candidate], cursor: str) -> None:
        self.index = index
        self.candidates = tuple(candidates)
        self.cursor = cursor
        self._tables: dict[object, Table] = {}
        declared = [c.deployment.capabilities for c in self.candidates]
        caps = {can.max_output_tokens for can in declared if can.max_output_tokens is not None}
        bounded = [
            (can.context_window, can.max_output_tokens or 0)
            for can in declared
            if can.context_window is not None
        ]
        self._caps = sorted(caps)
        self._windows = sorted({window for window, _ in bounded})
        self._rooms = sorted({window - cap for window, cap in bounded})

    def table(self, request: SelectRequest) -> Table:
        """The candidates that no static or administrative rule rejects.

        Requests that need the same share one table: of the token figures only counts how many
        of the tier's thresholds they pass. ``exclude`` and route rules are not applied here.
        """
        if request.opaque:
            return self._build(request)
        output, tokens = request.max_output_tokens, request.input_tokens
        over = -1 if output is None else bisect_left(self._caps, output)
        if tokens is None:
            wide = -1
        elif output is None:
            wide = bisect_left(self._rooms, tokens)
        else:
            wide = bisect_left(self._windows, tokens + output)
        signature = (request.shape, over, wide)
        table = self._tables.get(signature)
        if table is None:
            table = self._build(request)
            if len(self._tables) >= TABLES_PER_TIER:
                self._tables = {}  # a new one: another thread may be reading the old
            self._tables[signature] = table
        return table

    def _build(self, request: SelectRequest) -> Table:
        static = [tuple(eligibility.static(c, request)) for c in self.candidates]

        def left(candidate: Candidate, reasons: tuple[str, ...]) -> bool:
            if reasons or candidate.shut or not candidate.enabled:
                return False
            return not (request.needs_secret and candidate.secret_missing)

        pairs = zip(self.candidates, static, strict=True)
        candidates = [c for c, reasons in pairs if left(c, reasons)]
        return Table(candidates, static, lasting=not request.opaque)


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
    selector: Selector | None = None  # the callable of a ``custom:<name>`` strategy
    stand_in: Strategy = simple_shuffle  # where the selector makes no choice

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """All candidates in tier order, the preview ones left out."""
        return tuple(c for tier in self.tiers for c in tier.candidates)


@dataclass(frozen=True, slots=True)
class Defaults:
    strategy: str = "simple_shuffle"
    policy_id: str | None = None
    auto_priority: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """One revision, whole. ``config_digest`` is the canonical document's SHA-256.

    Names are in NFC and trimmed. ``names`` maps an exact route alias or alias name to the route;
    ``forwards`` an alias name to the name behind it that only a pattern answers to; ``direct`` a
    ``provider:model`` to its deployments. ``bindings``: (deployment, credential) to revision.
    """

    revision: int
    config_digest: str
    routes: Mapping[str, Route] = field(default_factory=dict)  # by id
    names: Mapping[str, str] = field(default_factory=dict)
    patterns: Sequence[tuple[str, str]] = ()  # (alias with one *, route id), longest literal first
    forwards: Mapping[str, str] = field(default_factory=dict)
    direct: Mapping[str, tuple[Deployment, ...]] = field(default_factory=dict)
    deployments: Mapping[str, Deployment] = field(default_factory=dict)
    policies: Mapping[str, Policy] = field(default_factory=dict)
    defaults: Defaults = field(default_factory=Defaults)
    bindings: Mapping[tuple[str, str], str] = field(default_factory=dict)
    missing_secrets: frozenset[str] = frozenset()  # credential ids without a secret at hand
    selectors: Mapping[str, Selector] = field(default_factory=dict)
    matrix: Matrix = field(default_factory=Matrix)
    has_intents: bool = False  # whether they decide about ``auto``
    rule_headers: frozenset[str] = frozenset()  # names of request headers that a rule reads
    derived: OrderedDict[tuple[str, str], Route] = field(default_factory=OrderedDict, repr=False)
    excludables: list[dict[str, str]] = field(default_factory=list, repr=False)

    def excludable(self) -> dict[str, str]:
        """Every id of a deployment or candidate, by itself: a caller's text for one is not kept
        where ours will do."""
        if not self.excludables:
            names = list(self.deployments)
            for deployment in self.deployments.values():
                for credential in deployment.credentials:
                    names.append(str(CandidateKey(deployment.id, credential.id)))
            self.excludables.append({name: name for name in names})
        return self.excludables[0]


EMPTY = Snapshot(revision=0, config_digest="")
