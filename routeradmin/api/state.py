"""What every candidate is doing: one consistent reading of the process's runtime state."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any

from asgiref.sync import async_to_sync
from django.http import HttpRequest, HttpResponse
from ninja import Router
from pydantic import BaseModel, Field

from routeradmin.api.access import reading
from routeradmin.api.answers import answer
from routeradmin.engine.describe import utc_text
from routeradmin.engine.snapshot import Snapshot
from routeradmin.engine.state import CandidateState
from routeradmin.services import candidates, live, runtime

router = Router(tags=["state"])


class Window(BaseModel):
    used: int
    limit: int | None
    resets_at: str


class Latency(BaseModel):
    ema: float | None
    p50: float | None
    p95: float | None
    ttft_p50: float | None


class CooldownState(BaseModel):
    failure_class: str = Field(alias="class")
    status: int | None
    message: str
    since: str
    until: str
    remaining_s: float
    level: int
    set_by: str


class LastErrorState(BaseModel):
    failure_class: str = Field(alias="class")
    status: int | None
    message: str
    at: str


class CandidateView(BaseModel):
    """``id`` is for display; its parts are fields."""

    id: str
    deployment: str
    credential: str
    matched: str | None
    provider: str
    routes: list[str]
    state: str
    admin_state: str
    health: str
    active: int
    max_parallel_requests: int | None
    rpm: Window
    tpm: Window
    latency_ms: Latency
    successes: int
    failures: int
    consecutive_failures: int
    level: int
    cooldown: CooldownState | None
    last_error: LastErrorState | None


class ProcessView(BaseModel):
    id: str
    revision: int
    lag_ms: float


class StateView(BaseModel):
    """A reader that keeps ``epoch`` and ``seq`` sees what it missed."""

    epoch: str
    seq: int
    revision: int
    config_digest: str
    now: str
    degraded: list[str]
    processes: list[ProcessView]
    candidates: list[CandidateView]


@dataclass(frozen=True, slots=True)
class Moment:
    """What the state was at one instant; nobody changes these states any more."""

    now: float
    epoch: str
    seq: int
    snapshot: Snapshot
    states: list[CandidateState]


async def taken() -> Moment:
    """Runs on the event loop, where state changes: nothing changes between two of its lines.

    It only copies. The loop serves requests; building the answer is left to the caller's thread.
    """
    current = runtime.get()
    store = current.store
    return Moment(
        now=current.clock(),
        epoch=store.epoch,
        seq=live.seq_of(current),
        snapshot=current.current.snapshot,
        states=[copy(state) for state in store.states()],
    )


def reading_of_now() -> dict[str, Any]:
    """The answer of ``GET /state``."""
    moment, current = async_to_sync(taken)(), runtime.get()
    return {
        "epoch": moment.epoch,
        "seq": moment.seq,
        "revision": moment.snapshot.revision,
        "config_digest": moment.snapshot.config_digest,
        "now": utc_text(moment.now),
        "degraded": sorted(current.degraded),
        "processes": current.processes(),
        "candidates": candidates.candidates_json(moment.snapshot, moment.states, moment.now),
    }


@router.get("", response=StateView, auth=reading, by_alias=True, summary="Get the runtime state")
def get_state(request: HttpRequest) -> HttpResponse:
    return answer(request, reading_of_now())
