"""What an embedding program supplies to run a turn: models, admission, sink, cancellation, time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from enum import Enum
from random import Random
from typing import Any, Protocol, TypeVar

from routeradmin.engine.outcome import AttemptFacts
from routeradmin.engine.snapshot import Candidate
from routeradmin.engine.store import StateStore

T = TypeVar("T")
WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Event:
    """One piece of a stream. Every kind but ``warning`` is visible output.

    Kinds: ``text-delta``, ``tool-call-started``, ``tool-arguments-delta``, ``reasoning-delta``,
    ``warning``; ``value`` is the piece itself.
    """

    kind: str
    value: Any = None


@dataclass(frozen=True, slots=True)
class Answer:
    """A complete answer. Figures that the upstream did not give stay None, never 0.

    ``binding_revision``: what the answer itself claims to come from, where it claims something.
    """

    value: Any
    status: int | None = 200
    input_tokens: int | None = None
    output_tokens: int | None = None
    binding_revision: str | None = None


class AttemptFailed(Exception):
    """What a model raises when its one attempt failed: the facts, to be classed."""

    def __init__(self, facts: AttemptFacts, binding_revision: str | None = None) -> None:
        super().__init__(facts.message or facts.ending.value)
        self.facts = facts
        self.binding_revision = binding_revision


class SinkRefused(Exception):
    """The sink takes no more events: the attempt must stop. Models let it pass."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One attempt to make. ``emit`` hands an event to the caller's sink; raises SinkRefused.

    ``idempotency_key`` is the same for every attempt of a run.
    """

    payload: Any
    candidate: Candidate
    emit: Callable[[Event], None]
    deadline_at: float | None
    idempotency_key: str


class Model(Protocol):
    """Makes single attempts at one deployment."""

    @property
    def binding_revision(self) -> str:
        """The provenance it was made for; must be the target's own."""
        ...

    def attempt(self, ask: Ask) -> Coroutine[Any, Any, Answer]:
        """Raises AttemptFailed."""
        ...


class Cut(Enum):
    """Why a race ended without its runner."""

    CANCELLED = "cancelled"
    TIMED_OUT = "timed-out"


class Race(Protocol):
    """Runs a coroutine until it ends, the caller cancels, or ``limit_s`` seconds are over; what
    is cut is cancelled and finished with before this returns."""

    def __call__(
        self, runner: Coroutine[Any, Any, T], limit_s: float | None
    ) -> Awaitable[T | Cut]: ...


async def always(candidate: Candidate) -> bool:
    del candidate
    return True


def ignore(event: Event) -> bool:
    del event
    return True


@dataclass(frozen=True, slots=True)
class Ports:
    """Everything effectful. ``models`` goes by candidate id (``deployment/credential``) or by
    deployment id.

    ``admit`` is asked before every attempt; False ends the run with ``limit-refused``.
    ``sink`` answers False when it takes no more. ``cancelled`` says whether the caller gave up.
    ``pause`` sleeps so many seconds; ``race`` cuts it, and attempts, short. ``clock`` gives epoch
    seconds. ``store`` keeps health, cooldowns and limits between runs; without one every run
    stands alone.
    """

    models: Mapping[str, Model]
    pause: Callable[[float], Coroutine[Any, Any, None]]
    race: Race
    clock: Callable[[], float]
    admit: Callable[[Candidate], Coroutine[Any, Any, bool]] = always
    sink: Callable[[Event], bool] = ignore
    cancelled: Callable[[], bool] = lambda: False
    rng: Random = field(default_factory=Random)
    store: StateStore | None = None
