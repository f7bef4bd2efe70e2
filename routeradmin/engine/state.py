"""Runtime state of candidates, leases on them, and what choosing reads of both.

Time is one float everywhere: seconds since the epoch on a clock that never steps (see
``adapters.clock``). Remaining time is therefore never above what was set.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from routeradmin.engine.key_use import Allowance
    from routeradmin.engine.snapshot import Candidate
    from routeradmin.engine.tables import Table
    from routeradmin.engine.turn_state import Opening, TurnState


class CandidateKey(NamedTuple):
    """Identity of runtime state. ``matched`` is the upstream name a pattern took, else empty."""

    deployment: str
    credential: str
    matched: str = ""

    def __str__(self) -> str:
        suffix = f"@{self.matched}" if self.matched else ""
        return f"{self.deployment}/{self.credential}{suffix}"


class Health(StrEnum):
    """What the machine has seen; no person writes it."""

    UNKNOWN = "unknown"
    HEALTHY = "healthy"
    DEGRADED = "degraded"
    UNHEALTHY = "unhealthy"


class FailureClass(StrEnum):
    RATE_LIMITED = "rate-limited"
    QUOTA = "quota"
    UNAUTHORIZED = "unauthorized"
    NOT_FOUND = "not-found"
    TRANSIENT = "transient"
    CONTENT_POLICY = "content-policy"
    CONTEXT_WINDOW = "context-window"
    CALLER = "caller"
    REFUSED = "refused"
    CANCELLED = "cancelled"
    DEADLINE = "deadline"


class Dispatch(StrEnum):
    """What is known about the request having reached the upstream."""

    NOT_SENT = "not-sent"
    REJECTED = "rejected"
    UNKNOWN = "unknown"
    ACCEPTED = "accepted"


MANUAL = "manual"  # class of a cooldown that a person set


@dataclass(frozen=True, slots=True)
class Cooldown:
    """One running or elapsed cooldown with its evidence; times in epoch seconds.

    ``set_by`` is ``result``, ``probe`` or ``user:NAME``. ``level`` is the one after the change.
    """

    cls: str
    since: float
    until: float
    level: int
    set_by: str
    status: int | None = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class LastError:
    cls: str
    status: int | None
    message: str
    at: float


@dataclass(slots=True)
class CandidateState:
    """Everything mutable about one candidate. Only a StateStore changes it.

    The window fields (rpm_used, tpm_used, minute_*) belong to window number ``window``
    (``now // 60``); reading them for another window must yield 0 (``windows.roll``).
    tpm_used includes the estimates held by leases of the window.
    """

    key: CandidateKey
    active: int = 0
    window: int = 0
    rpm_used: int = 0
    tpm_used: int = 0
    minute_successes: int = 0
    minute_failures: int = 0
    latency_ema_ms: float | None = None
    latencies_ms: list[float] = field(default_factory=list)  # the last few, for percentiles
    ttfts_ms: list[float] = field(default_factory=list)
    successes: int = 0
    failures: int = 0
    consecutive_failures: int = 0
    consecutive_successes: int = 0
    health: Health = Health.HEALTHY
    recovering: bool = False
    needs_attention: bool = False
    probe_failures: int = 0
    probe_unhealthy: bool = False  # a verdict remembered while a cooldown runs
    rate_level: int = 0
    transient_level: int = 0
    cooldown: Cooldown | None = None
    cooldown_until: float = 0.0  # == cooldown.until, 0.0 without one: the hot path reads this
    rate_limited_until: float = 0.0  # end of the open window of this class: no step up inside it
    transient_until: float = 0.0
    marked_at: float = 0.0  # newest cooldown or needs-attention: only later requests can lift it
    last_error: LastError | None = None
    secret_version: int = 0
    # False only while the store has proven that nothing can refuse this candidate (no cooldown
    # runs, healthy, below every limit); choosing then skips the checks: ``accounting.suspicious``.
    suspect: bool = True
    version: int = 0  # of the health record, where a store shares it with other processes
    counted_at: int = 0  # that store's step which changed the counters last


class Lease(NamedTuple):
    """One reserved slot. ``window`` and ``held_tokens`` say what tpm was charged and where."""

    id: str
    key: CandidateKey
    generation: int
    owner: str
    granted_at: float
    expires_at: float
    held_tokens: int
    window: int
    secret_version: int
    route_id: str
    turn_id: str | None = None
    policy_id: str = ""
    is_charged: bool = False  # on its owner too, an API key that has limits


class Binding(NamedTuple):
    """Where a session likes to stay, until when; ``before`` is where it was until it moved."""

    key: CandidateKey
    until: float
    before: CandidateKey | None = None


class Ring(NamedTuple):
    """The free candidates that take turns: those of the table but for the ``taken`` places.

    A store shared by processes grants to the one whose turn it is when it grants.
    """

    table: Table
    taken: Sequence[int]

    def members(self) -> list[Candidate]:
        """In candidate order: the cursor modulo their number is whose turn it is."""
        candidates = self.table.candidates
        if not self.taken:
            return list(candidates)
        taken = frozenset(self.taken)
        return [one for place, one in enumerate(candidates) if place not in taken]

    def named(self, key: CandidateKey) -> Candidate:
        return self.table.candidates[self.table.index[key]]


class Grant(NamedTuple):
    """What a reservation asks for. ``cursor`` names the round-robin cursor to advance, if any.

    With a ``ring`` the lease may be on another member of it than ``candidate``: see its key.

    Of a turn that outlives its request, the store keeps with the grant that this attempt began:
    ``keep`` is a new turn as it stood before (an ``Opening`` gets its ids from the lease),
    ``turn_version`` the version at which an older one was loaded. ``allowance``: what the owner,
    an API key, may use, if it has limits.
    """

    candidate: Candidate
    owner: str
    ttl_s: float
    held_tokens: int
    route_id: str
    policy_id: str = ""
    turn_id: str | None = None
    cursor: str | None = None
    ring: Ring | None = None
    keep: TurnState | Opening | None = None
    turn_version: int = 0
    allowance: Allowance | None = None

    def granted(self, lease: Lease) -> Candidate:
        """The candidate that a lease for this grant is on."""
        if self.ring is None or lease.key == self.candidate.key:
            return self.candidate
        return self.ring.named(lease.key)


@dataclass(slots=True, unsafe_hash=True)
class Outcome:
    """The classified end of one attempt. Missing figures are None, never 0. Nobody changes one
    (see ``SelectRequest``).

    ``failure`` is None for a success. ``hint_s`` is the upstream's own wait, in seconds.
    """

    failure: FailureClass | None
    dispatch: Dispatch
    status: int | None = None
    hint_s: float | None = None
    visible_output: bool = False
    message: str = ""  # already redacted
    latency_ms: float | None = None
    ttft_ms: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    retriable: bool = False


class ReportState(StrEnum):
    """How a settle or release met its lease."""

    OPEN = "open"
    EXPIRED = "expired"  # counted once for health, the slot was given back before
    REPEATED = "repeated"  # answered before: nothing changed
    RELEASED = "released"  # given back without an outcome before


@dataclass(frozen=True, slots=True)
class Change:
    """One state change worth a journal entry: what changed on whom, with its evidence.

    ``kind``: ``cooldown-set``, ``cooldown-extended``, ``cooldown-cleared``, ``recovering``,
    ``healthy``, ``degraded``, ``unhealthy``, ``needs-attention``.
    """

    kind: str
    key: CandidateKey
    at: float
    set_by: str
    cls: str | None = None
    status: int | None = None
    message: str = ""
    until: float | None = None
    level: int | None = None


class Settlement(NamedTuple):
    """What a report did: how it met the lease, the cooldown it set or left, the changes.

    ``answer`` is the first report's; ``is_first``: this report is the one that gave it.
    """

    state: ReportState
    lease: Lease
    cooldown: Cooldown | None
    changes: tuple[Change, ...] = ()
    answer: dict[str, Any] | None = None
    is_first: bool = True


class LeaseNotFound(Exception):
    """No lease of that id was ever issued, or it was forgotten."""


class LeaseFenced(Exception):
    """The generation is wrong, or the lease expired: the holder is too late."""


Listener = Callable[[Sequence[Change]], None]


class StateView(Protocol):
    """What choosing reads: local, synchronous, never stale about this process's own grants."""

    def of(self, candidate: Candidate) -> CandidateState:
        """The candidate's state; one never seen before starts healthy and idle."""
        ...

    def row(self, table: Table) -> Sequence[CandidateState]:
        """The states of the table's candidates, in its order."""
        ...

    def suspects(self, table: Table) -> Sequence[int] | None:
        """Where in the table ``suspect`` states are, ascending; None: look at every state."""
        ...

    def cursor(self, name: str) -> int:
        """The round-robin cursor's next value, without moving it."""
        ...
