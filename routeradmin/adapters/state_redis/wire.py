"""How leases, candidates and turns look in Redis."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import orjson

from routeradmin.engine import durable
from routeradmin.engine.accounting import LATENCY_ALPHA
from routeradmin.engine.key_use import Allowance, KeyUse
from routeradmin.engine.snapshot import Candidate
from routeradmin.engine.state import (
    Binding,
    CandidateKey,
    CandidateState,
    Grant,
    Lease,
    ReportState,
)
from routeradmin.engine.turn_book import Claim, Kept, claim_of, opened
from routeradmin.engine.turn_state import Opening, TurnState, request_from_json, request_json

log = logging.getLogger(__name__)

# What reading raises where members are missing, unknown or of another kind; JSON errors are
# ValueErrors.
FOREIGN = (KeyError, TypeError, ValueError, AttributeError)
UNSEEN = -1  # expected version of a step that looks at no health
RING_SENT = 64  # members of a ring that travel with a grant: those whose turn is near
RING_STEP = 32  # where they may begin, so that many grants name the same


def key_text(key: CandidateKey) -> str:
    """Ids may hold slashes, never line ends."""
    return "\n".join(key)


@lru_cache(maxsize=65_536)
def key_of(text: str) -> CandidateKey:
    return CandidateKey(*text.split("\n"))


class Ring:
    """Candidates of which one gets the slot; a ring that many steps name travels once a call."""

    __slots__ = ("limits",)

    def __init__(self, candidates: Sequence[Candidate]) -> None:
        self.limits = [limits(one) for one in candidates]


class Text:
    """Kept as it is, and so sent beside the steps: nothing in it has to be escaped and read."""

    __slots__ = ("text",)

    def __init__(self, value: Any) -> None:
        self.text = orjson.dumps(value)


TEXTS_FROM = 3  # the first place of the script's arguments that is a text


def packed(steps: Sequence[Sequence[Any]]) -> list[bytes]:
    """The script's arguments: steps, the rings that they name by place, the texts likewise."""
    rings: dict[Ring, int] = {}
    texts: list[bytes] = []

    def place(part: Any) -> int:
        if isinstance(part, Ring):
            return rings.setdefault(part, len(rings))
        if not isinstance(part, Text):
            raise TypeError
        texts.append(part.text)
        return len(texts) - 1 + TEXTS_FROM

    asked = orjson.dumps(steps, default=place)
    return [asked, orjson.dumps([ring.limits for ring in rings]), *texts]


def unpacked(reply: Any) -> list[Any]:
    """The answers; frames travel beside them, and those of a look become its last item."""
    text, *raw = reply if isinstance(reply, list) else [reply]
    answers: list[Any] = orjson.loads(text) or []
    for answer in answers:
        if answer and answer[0] == "frames":
            first, count = answer[-2:]
            answer[-2:] = [[orjson.loads(one) for one in raw[first : first + count]]]
    return answers


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


def payer(allowance: Allowance | None) -> list[Any] | int:
    """An API key that pays for a lease, as ``limits`` with tokens a day and its id; 0: none."""
    if allowance is None:
        return 0
    uid, *told = allowance
    limited = (-1 if limit is None else limit for limit in told)
    return [key_text(payer_key(uid)), *limited, uid]


def payer_key(uid: str) -> CandidateKey:
    """API keys are counted beside candidates, under a name that no deployment has."""
    return CandidateKey("", uid)


def facts(lease: Lease) -> Text:
    """What of a lease the script never looks at, but for the generation, which comes first."""
    return Text(
        [
            lease.generation,
            lease.owner,
            lease.granted_at,
            lease.held_tokens,
            lease.window,
            lease.route_id,
            lease.turn_id,
            lease.policy_id,
            lease.is_charged,
        ]
    )


def lease_of(lease_id: str, key: str, secret_version: int, ends: str, kept: str) -> Lease:
    generation, owner, granted_at, tokens, window, route_id, turn_id, policy_id, is_charged = (
        orjson.loads(kept)
    )
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
        is_charged,
    )


def binding_text(binding: Binding) -> Text:
    key, until, before = binding
    return Text([list(key), until, None if before is None else list(before)])


def binding_of(text: str) -> Binding | None:
    """None for one that another release wrote in another way."""
    try:
        key, until, before = orjson.loads(text)
        return Binding(CandidateKey(*key), until, None if before is None else CandidateKey(*before))
    except FOREIGN as problem:
        log.warning("a session's binding was written by another release: %r", problem)
        return None


def phase_of(word: str) -> ReportState:
    return ReportState(word)


class Counts(NamedTuple):
    """A candidate's counters as Redis has them."""

    active: int
    window: int
    rpm_used: int
    tpm_used: int
    minute_successes: int
    minute_failures: int
    successes: int
    failures: int
    latency_ema_ms: float | Literal[False]
    version: int
    seq: int  # of the last change


counts_of = Counts._make


def put_use(use: KeyUse, sent: Counts) -> None:
    """An API key's counters, unless they are older than what is here; see ``candidates.lua``."""
    if sent.seq < use.seq:
        return
    use.active, use.window, use.requests, use.tokens = sent[:4]
    use.day, use.day_tokens, use.seq = sent.successes, sent.failures, sent.seq


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


NOTHING = 0  # counted


def deltas(
    before: CandidateState, after: CandidateState, latency_ms: float | None, current: int
) -> list[Any]:
    """What a verdict adds to the counters of window ``current``: successes, failures, those of the
    minute, whether the minute's share starts again (as it does with every new cooldown), latency
    (-1: none) and its weight in the mean, window."""
    empty = not (after.minute_successes or after.minute_failures)
    return [
        after.successes - before.successes,
        after.failures - before.failures,
        max(0, after.minute_successes - before.minute_successes),
        max(0, after.minute_failures - before.minute_failures),
        empty and after.cooldown != before.cooldown,
        -1 if latency_ms is None else latency_ms,
        LATENCY_ALPHA,
        current,
    ]


def success(latency_ms: float | None, current: int) -> list[Any]:
    """``deltas`` of a success that finds everything in order."""
    latency = -1 if latency_ms is None else latency_ms
    return [1, 0, 1, 0, False, latency, LATENCY_ALPHA, current]


def close_step(
    now: float,
    lease_id: str,
    phase: ReportState,
    used: int = 0,
    answer: dict[str, Any] | None = None,
    generation: int | None = None,
    granter: str = "",
) -> tuple[Any, ...]:
    """The end of a lease that was decided without looking at its candidate's health. ``granter``:
    who granted it, if that was another process."""
    fence = "" if generation is None else str(generation)
    end = ("close", repr(now), lease_id, fence, phase.value, used, UNSEEN, "", NOTHING)
    return (*end, "", 0, 0 if answer is None else Text(answer), granter)


def turn_text(turn: TurnState | Opening, now: float) -> Text:
    if isinstance(turn, Opening):
        fields = turn._asdict()
        fields["key"] = list(turn.key)
        fields["request"] = request_json(turn.request)
        return Text([now, "opening", fields])
    return Text([now, "turn", turn.as_json()])


def turn_of(text: str) -> tuple[float, TurnState | Opening]:
    """When it was saved, and the turn."""
    saved_at, kind, kept = orjson.loads(text)
    if kind == "turn":
        return saved_at, TurnState.from_json(kept)
    kept["key"] = CandidateKey(*kept["key"])
    kept["request"] = request_from_json(kept["request"])
    return saved_at, Opening(**kept)


def turn_step(grant: Grant, lease: Lease, version: int) -> Any:
    """What a grant keeps of its turn: id, versions before and after, text of a new one (0: none),
    claim; 0 where it keeps nothing.

    The candidate is missing from both: the script knows which one the grant came to be on.
    """
    keep, claim, now = grant.keep, "", lease.granted_at
    if keep is None and not grant.turn_version:
        return 0
    text: Text | int = 0
    if isinstance(keep, Opening):
        text = turn_text(opened(keep, lease), now)
    else:
        claim = claim_text(claim_of(grant, lease))
        if keep is not None:
            text = turn_text(keep, now)
    return [lease.turn_id, grant.turn_version, version, text, claim]


def claim_text(claim: Claim | None) -> str:
    """All but the candidate."""
    return "" if claim is None else orjson.dumps(claim[1:]).decode()


def kept_of(sent: Sequence[Any]) -> tuple[float, Kept] | None:
    """When it was saved, and the turn; from version, text, claim, and the candidates that the
    claim and the opening came to be on. None also for one that a process of another release wrote
    in another way: while those are being replaced, such a turn begins anew."""
    text = sent[1]
    if not text:
        return None
    try:
        return _kept_of(sent)
    except FOREIGN as problem:
        log.warning("a turn was written by another release and is not gone on with: %r", problem)
        return None


def _kept_of(sent: Sequence[Any]) -> tuple[float, Kept]:
    version, text, claimed, key, opened_on = sent
    saved_at, turn = turn_of(text)
    if opened_on and isinstance(turn, Opening):
        turn = turn._replace(key=key_of(opened_on))
    claim = None
    if claimed:
        claim = Claim(key_of(key), *orjson.loads(claimed))
        saved_at = max(saved_at, claim.at)
    return saved_at, Kept(turn, int(version), claim)
