"""What a turn remembers between steps: plain values that a store can keep as JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields, replace
from enum import StrEnum
from typing import Any, NamedTuple

from routeradmin.engine.preferences import Preferences
from routeradmin.engine.request import SelectRequest
from routeradmin.engine.state import CandidateKey


class HaltReason(StrEnum):
    """Why a turn is over."""

    SUCCEEDED = "succeeded"
    EXHAUSTED = "exhausted"
    INELIGIBLE_FAILURE = "ineligible-failure"
    VISIBLE_OUTPUT = "visible-output"
    AMBIGUOUS_DISPATCH = "ambiguous-dispatch"
    LIMIT_REFUSED = "limit-refused"
    DEADLINE = "deadline"
    CANCELLED = "cancelled"
    ATTEMPT_BOUND = "attempt-bound"
    SINK_REFUSED = "sink-refused"


_HOLDERS = (
    *("tried", "spent", "targets", "queue", "routes_left", "routes_entered", "warnings"),
    *("rested", "places", "routing"),
)


class Mood(StrEnum):
    """What the last outcome allows next."""

    FRESH = "fresh"  # nothing was tried in this tier
    RETRY = "retry"  # others now, then a new round
    MOVE = "move"  # others now, then the next tier without a new round
    LEAVE = "leave"  # no other target of this route


@dataclass(slots=True)
class Attempt:
    """One started attempt; figures that nobody gave stay None. ``cls`` None and ``ended_at`` set:
    it succeeded."""

    n: int
    key: CandidateKey
    route: str
    target: str
    tier: int
    provenance: dict[str, str]
    auth_kind: str
    billing_kind: str
    started_at: float
    waited_ms: int = 0
    lease_id: str = ""
    ended_at: float | None = None
    cls: str | None = None
    status: int | None = None
    dispatch: str | None = None
    visible_events: int = 0
    ttft_ms: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    message: str = ""

    def as_record(self) -> dict[str, Any]:
        """The attempt as turn records show it."""
        took_ms = None if self.ended_at is None else round((self.ended_at - self.started_at) * 1000)
        return {
            "n": self.n,
            "target": self.target,
            "deployment": self.key.deployment,
            "credential": self.key.credential,
            "provenance": self.provenance,
            "auth_kind": self.auth_kind,
            "billing_kind": self.billing_kind,
            "class": self.cls,
            "status": self.status,
            "dispatch": self.dispatch,
            "visible_events": self.visible_events,
            "waited_ms": self.waited_ms,
            "duration_ms": took_ms,
            "ttft_ms": self.ttft_ms,
            "usage": {"input": self.input_tokens, "output": self.output_tokens},
            "message": self.message,
        }


class Opening(NamedTuple):
    """A turn with one attempt begun and nothing told yet: most turns never become more.

    ``Turn.reopen`` makes the whole turn of it. ``at`` is when the attempt began, epoch seconds.
    """

    id: str
    model: str
    route_id: str
    request: SelectRequest
    key: CandidateKey
    tier: int
    lease_id: str
    at: float


@dataclass(slots=True)
class TurnState:
    """Where the turn stands. Moments are epoch seconds.

    ``tried``: keys of this round. ``spent``: keys whose failure here cannot be retried.
    ``rested``: ``rest_name`` to the end of the cooldown that this turn's own failure set.
    ``places``: deployment to the route and tier that visited it. ``queue``: preview keys to come.
    """

    id: str
    model: str
    route_id: str
    request: SelectRequest
    started_at: float
    deadline_at: float | None = None
    streaming: bool = False
    # the place
    at_route: str = ""
    tier: int = 0
    round: int = 1
    round_attempts: int = 0
    mood: Mood = Mood.FRESH
    tried: list[CandidateKey] = field(default_factory=list)
    spent: list[CandidateKey] = field(default_factory=list)
    rested: dict[str, float] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)
    targets: list[str] = field(default_factory=list)
    queue: list[CandidateKey] = field(default_factory=list)
    preview_done: bool = False
    bounded: bool = False
    # fallback routes: None until the route's own tiers are through
    routes_left: list[str] | None = None
    routes_entered: list[str] = field(default_factory=list)
    # waits
    resume_at: float | None = None
    resume_kind: str = ""
    wait_ms: int = 0
    recovery_limit: float | None = None
    # the record
    attempts: list[Attempt] = field(default_factory=list)
    warnings: list[dict[str, Any]] = field(default_factory=list)
    routing: dict[str, Any] = field(default_factory=dict)  # how the route was come by
    hint_s: float | None = None
    retriable: bool = False
    halt: HaltReason | None = None
    refused: bool = False  # over without a halt: no attempt was possible
    ended_at: float | None = None

    def copied(self) -> TurnState:
        """One that can go on without this one noticing."""
        copy = replace(self, attempts=[replace(one) for one in self.attempts])
        for name in _HOLDERS:
            held = getattr(self, name)
            setattr(copy, name, None if held is None else held.copy())
        return copy

    def as_json(self) -> dict[str, Any]:
        """Plain JSON values; ``from_json`` gives the same state back."""
        kept = {f.name: getattr(self, f.name) for f in fields(self)}
        for name in ("tried", "spent", "queue"):
            kept[name] = [list(key) for key in kept[name]]
        kept["attempts"] = [{**asdict(a), "key": list(a.key)} for a in self.attempts]
        kept["request"] = request_json(self.request)
        kept["mood"] = self.mood.value
        kept["halt"] = None if self.halt is None else self.halt.value
        for name in ("rested", "places", "routing"):
            kept[name] = dict(kept[name])
        for name in ("targets", "routes_entered", "warnings"):
            kept[name] = list(kept[name])
        return kept

    @classmethod
    def from_json(cls, kept: dict[str, Any]) -> TurnState:
        values = dict(kept)
        for name in ("tried", "spent", "queue"):
            values[name] = [CandidateKey(*key) for key in values[name]]
        values["attempts"] = [
            Attempt(**{**a, "key": CandidateKey(*a["key"])}) for a in values["attempts"]
        ]
        values["request"] = request_from_json(values["request"])
        values["mood"] = Mood(values["mood"])
        values["halt"] = None if values["halt"] is None else HaltReason(values["halt"])
        for name in ("rested", "places", "routing"):
            values[name] = dict(values.get(name, {}))
        for name in ("targets", "routes_entered", "warnings"):
            values[name] = list(values[name])
        return cls(**values)


def rest_name(key: CandidateKey) -> str:
    """The key as one text; ids may hold slashes, never line ends."""
    return "\n".join(key)


_SETS = {"requires", "exclude", "tags"}


_DEFAULTS = {f.name: f.default for f in fields(SelectRequest) if f.init}


def request_json(request: SelectRequest) -> dict[str, Any]:
    """What was asked for, without what everybody asks for: turns are kept by the million."""
    kept = {
        name: value
        for name, default in _DEFAULTS.items()
        if (value := getattr(request, name)) != default
    }
    for name in _SETS & kept.keys():
        kept[name] = sorted(kept[name])
    if request.preferences is not None:
        kept["preferences"] = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in request.preferences._asdict().items()
        }
    return kept


def request_from_json(kept: dict[str, Any]) -> SelectRequest:
    values = dict(kept)
    for name in _SETS & values.keys():
        values[name] = frozenset(values[name])
    if "headers" in values:
        values["headers"] = tuple((name, value) for name, value in values["headers"])
    if "opaque" in values:
        values["opaque"] = tuple(values["opaque"])
    if values.get("preferences") is not None:
        wishes: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in values["preferences"].items()
        }
        values["preferences"] = Preferences(**wishes)
    return SelectRequest(**values)
