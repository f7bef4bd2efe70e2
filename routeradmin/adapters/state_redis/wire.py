"""How leases, candidates and turns look in Redis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from routeradmin.engine import durable
from routeradmin.engine.accounting import LATENCY_ALPHA
from routeradmin.engine.snapshot import Candidate
from routeradmin.engine.state import CandidateKey, CandidateState, Grant, Lease, ReportState
from routeradmin.engine.turn_book import Claim, Kept, claim_of, opened
from routeradmin.engine.turn_state import Opening, TurnState, request_from_json, request_json

UNSEEN = -1  # expected version of a step that looks at no health
RING_SENT = 64  # members of a ring that travel with a grant: those whose turn is near


def key_text(key: CandidateKey) -> str:
    """Ids may hold slashes, never line ends."""
    return "\n".join(key)


def key_of(text: str) -> CandidateKey:
    return CandidateKey(*text.split("\n"))


def limits(candidate: Candidate) -> list[Any]:
    """Key, slots, rpm, tpm (-1: no limit) and the secret's version."""
    return [
        key_text(candidate.key),
        *(
            -1 if limit is None else limit
            for limit in (candidate.max_parallel, candidate.rpm_limit, candidate.tpm_limit)
        ),
        candidate.credential.secret_version,
    ]


def facts(lease: Lease) -> str:
    """What of a lease the script never looks at, but for the generation, which comes first."""
    return orjson.dumps(
        [
            lease.generation,
            lease.owner,
            lease.granted_at,
            lease.held_tokens,
            lease.window,
            lease.route_id,
            lease.turn_id,
            lease.policy_id,
        ]
    ).decode()


def lease_of(lease_id: str, key: str, secret_version: int, ends: str, kept: str) -> Lease:
    generation, owner, granted_at, tokens, window, route_id, turn_id, policy_id = orjson.loads(kept)
    return Lease(
        lease_id,
        key_of(key),
        generation,
        owner,
        granted_at,
        float(ends),
        tokens,
        window,
        secret_version,
        route_id,
        turn_id,
        policy_id,
    )


def phase_of(word: str) -> ReportState:
    return ReportState(word)


@dataclass(frozen=True, slots=True)
class Counts:
    """A candidate's counters as Redis has them."""

    active: int
    window: int
    rpm_used: int
    tpm_used: int
    minute_successes: int
    minute_failures: int
    successes: int
    failures: int
    latency_ema_ms: float | None
    version: int

    @classmethod
    def of(cls, sent: Sequence[Any]) -> Counts:
        active, number, rpm, tpm, won, lost, successes, failures, ema, version = sent
        mean = None if ema is False else float(ema)
        return cls(active, number, rpm, tpm, won, lost, successes, failures, mean, version)


def record_text(state: CandidateState) -> str:
    """The health record; one that tells nothing still says that there is nothing to tell."""
    kept = durable.record(state) or {
        **state.key._asdict(),
        "secret_version": state.secret_version,
    }
    return orjson.dumps(kept).decode()


def put_record(state: CandidateState, text: str) -> None:
    """Make the state's health what the record says."""
    kept = orjson.loads(text)
    blank = CandidateState(state.key)
    durable.restore(state, {**_plain(blank), **kept}, float("inf"))


def _plain(state: CandidateState) -> dict[str, Any]:
    return {name: getattr(state, name) for name in durable.PLAIN}


def deltas(
    before: CandidateState, after: CandidateState, latency_ms: float | None, current: int
) -> dict[str, Any]:
    """What a verdict adds to the counters of window ``current``; ``reset``: the minute's share
    starts again, as it does with every new cooldown."""
    empty = not (after.minute_successes or after.minute_failures)
    return {
        "ok": after.successes - before.successes,
        "bad": after.failures - before.failures,
        "ms": max(0, after.minute_successes - before.minute_successes),
        "mf": max(0, after.minute_failures - before.minute_failures),
        "reset": empty and after.cooldown != before.cooldown,
        "latency": -1 if latency_ms is None else latency_ms,
        "alpha": LATENCY_ALPHA,
        "window": current,
    }


def success(latency_ms: float | None, current: int) -> dict[str, Any]:
    """``deltas`` of a success that finds everything in order."""
    return {
        "ok": 1,
        "bad": 0,
        "ms": 1,
        "mf": 0,
        "reset": False,
        "latency": -1 if latency_ms is None else latency_ms,
        "alpha": LATENCY_ALPHA,
        "window": current,
    }


NOTHING = {
    "ok": 0,
    "bad": 0,
    "ms": 0,
    "mf": 0,
    "reset": False,
    "latency": -1,
    "alpha": 0,
    "window": 0,
}


def close_step(
    now: float, lease_id: str, phase: ReportState, used: int = 0, answer: str = ""
) -> tuple[Any, ...]:
    """The end of a lease that was decided without looking at its candidate's health."""
    end = ("close", repr(now), lease_id, "", phase.value, used, UNSEEN, "", NOTHING)
    return (*end, "", False, answer)


def turn_text(turn: TurnState | Opening, now: float) -> str:
    if isinstance(turn, Opening):
        fields = turn._asdict()
        fields["key"] = list(turn.key)
        fields["request"] = request_json(turn.request)
        return orjson.dumps([now, "opening", fields]).decode()
    return orjson.dumps([now, "turn", turn.as_json()]).decode()


def turn_of(text: str) -> tuple[float, TurnState | Opening]:
    """When it was saved, and the turn."""
    saved_at, kind, kept = orjson.loads(text)
    if kind == "turn":
        return saved_at, TurnState.from_json(kept)
    kept["key"] = CandidateKey(*kept["key"])
    kept["request"] = request_from_json(kept["request"])
    return saved_at, Opening(**kept)


def turn_step(grant: Grant, lease: Lease, version: int) -> Any:
    """What a grant keeps of its turn: id, versions before and after, text of a new one, claim;
    False where it keeps nothing.

    The candidate is missing from both: the script knows which one the grant came to be on.
    """
    keep, claim, now = grant.keep, "", lease.granted_at
    if keep is None and not grant.turn_version:
        return False
    if isinstance(keep, Opening):
        text = turn_text(opened(keep, lease), now)
    else:
        text = "" if keep is None else turn_text(keep, now)
        claim = claim_text(claim_of(grant, lease))
    return [lease.turn_id, grant.turn_version, version, text, claim]


def claim_text(claim: Claim | None) -> str:
    """All but the candidate."""
    return "" if claim is None else orjson.dumps(claim[1:]).decode()


def kept_of(sent: Sequence[Any]) -> tuple[float, Kept] | None:
    """When it was saved, and the turn; from version, text, claim, and the candidates that the
    claim and the opening came to be on."""
    version, text, claimed, key, opened_on = sent
    if not text:
        return None
    saved_at, turn = turn_of(text)
    if opened_on and isinstance(turn, Opening):
        turn = turn._replace(key=key_of(opened_on))
    claim = None
    if claimed:
        claim = Claim(key_of(key), *orjson.loads(claimed))
        saved_at = max(saved_at, claim.at)
    return saved_at, Kept(turn, int(version), claim)
