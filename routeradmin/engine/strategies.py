"""The eight strategies and custom ones: each answers with a place in the table, or None.

Every strategy sees a ``Field``: the table, the states beside it, and which places are free. None
of them changes anything; the cursor moves when the lease is granted.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from itertools import accumulate
from random import Random
from typing import TYPE_CHECKING, Protocol

from routeradmin.engine.eligibility import usable
from routeradmin.engine.state import CandidateState, StateView
from routeradmin.engine.tables import Table
from routeradmin.engine.windows import window

if TYPE_CHECKING:
    from routeradmin.engine.request import SelectRequest
    from routeradmin.engine.snapshot import Candidate

CUSTOM_PREFIX = "custom:"
REDRAWS = 4  # draws that may hit a deployment with nothing free before the scan
_NOTHING: frozenset[int] = frozenset()


class Selector(Protocol):
    """A custom strategy: sees only candidates that passed every rule, their states beside them."""

    def __call__(
        self,
        candidates: Sequence[Candidate],
        states: Sequence[CandidateState],
        request: SelectRequest,
        now: float,
        rng: Random,
    ) -> int:
        """The place of the chosen one in ``candidates``."""
        ...


class Field:
    """One table at one moment: what is free in it, and what the strategies compare."""

    __slots__ = (
        "_barred",
        "_forgiven",
        "_strict",
        "_tokens",
        "_view",
        "_window",
        "cursor",
        "now",
        "rng",
        "states",
        "table",
    )

    def __init__(
        self,
        table: Table,
        view: StateView,
        tokens: int,
        now: float,
        rng: Random,
        cursor: int = 0,
        barred: frozenset[int] = _NOTHING,
        forgiven: frozenset[int] = _NOTHING,
    ) -> None:
        self.table = table
        self.states = view.row(table)
        self.now = now
        self.rng = rng
        self.cursor = cursor
        self._view = view
        self._tokens = tokens
        self._window = window(now)
        self._barred = barred
        self._forgiven = forgiven
        # An estimate this large may be refused by a state that no other rule suspects.
        self._strict = tokens > table.safe_tokens

    def without(self, places: Iterable[int]) -> Field:
        """The same field with more places barred."""
        return Field(
            self.table,
            self._view,
            self._tokens,
            self.now,
            self.rng,
            self.cursor,
            self._barred.union(places),
            self._forgiven,
        )

    def free(self, place: int) -> bool:
        """Whether the candidate at this place may be used now."""
        state = self.states[place]
        if (state.suspect or self._strict) and not usable(
            self.table.candidates[place],
            state,
            self._tokens,
            self.now,
            self._window,
            place in self._forgiven,
        ):
            return False
        return place not in self._barred

    def all_free(self) -> list[int]:
        """Every free place, in candidate order."""
        free, barred = self.free, self._barred
        if self._strict:
            return [place for place in range(len(self.states)) if free(place)]
        return [
            place
            for place, state in enumerate(self.states)
            if (not state.suspect and place not in barred) or (state.suspect and free(place))
        ]

    def taken(self) -> list[int]:
        """Every place that is not free, in candidate order; looks at suspects only if it can."""
        suspects = None if self._strict else self._view.suspects(self.table)
        if suspects is None:
            return [place for place in range(len(self.states)) if not self.free(place)]
        states, now, free = self.states, self.now, self.free
        if self._forgiven:
            out = [place for place in suspects if not free(place)]
        else:  # most suspects cool: see that without asking the rest
            out = [p for p in suspects if states[p].cooldown_until > now or not free(p)]
        if self._barred:
            out = list(self._barred.union(out))
            out.sort()
        return out


def simple_shuffle(field: Field) -> int | None:
    """Weighted random over deployments, then even among its free credentials.

    Drawing again when a deployment has nothing free gives the same shares as drawing among the
    free ones only, because every draw is independent and has the deployments' proportions.
    """
    table, rng = field.table, field.rng
    if len(table.candidates) == 1:
        return 0 if field.free(0) else None
    for _ in range(REDRAWS):
        group = table.groups[_draw(table, rng)]
        if len(group) == 1:
            place: int | None = group[0] if field.free(group[0]) else None
        else:
            place = _one_of([p for p in group if field.free(p)], rng)
        if place is not None:
            return place
    return _shuffle_by_scan(field)


def _draw(table: Table, rng: Random) -> int:
    if table.total:
        return bisect_right(table.cumulative, int(rng.random() * table.total))
    return int(rng.random() * len(table.groups))


def _shuffle_by_scan(field: Field) -> int | None:
    """The rule itself: what is left, by weight; evenly where the weights left are all 0."""
    table, rng = field.table, field.rng
    taken = set(field.taken())
    left = [[p for p in group if p not in taken] for group in table.groups]
    open_groups = [g for g, places in enumerate(left) if places]
    ends = list(accumulate(table.weights[g] for g in open_groups))
    if ends and ends[-1]:
        group: int | None = open_groups[bisect_right(ends, int(rng.random() * ends[-1]))]
    else:
        group = _one_of(open_groups, rng)
    return None if group is None else _one_of(left[group], rng)


def _one_of(places: Sequence[int], rng: Random) -> int | None:
    """An even draw; one place alone costs no draw."""
    if len(places) > 1:
        return places[int(rng.random() * len(places))]
    return places[0] if places else None


def round_robin(field: Field) -> int | None:
    """The cursor modulo the count of free places, in candidate order."""
    return nth_free(field, field.taken())


def nth_free(field: Field, taken: Sequence[int]) -> int | None:
    """``round_robin`` where the taken places, ascending, are known."""
    left = len(field.states) - len(taken)
    if not left:
        return None
    place = field.cursor % left
    for out in taken:  # ascending: each taken place before the answer moves it on by one
        if out > place:
            break
        place += 1
    return place


def least_busy(field: Field) -> int | None:
    """Fewest active leases; evenly among equals."""
    states = field.states
    equal: list[int] = []
    fewest = 0
    for place in field.all_free():
        active = states[place].active
        if active < fewest or not equal:
            equal, fewest = [place], active
        elif active == fewest:
            equal.append(place)
    return _one_of(equal, field.rng)


def latency_based(field: Field) -> int | None:
    """Lowest mean latency; one without a sample counts as the mean of those that have one.

    That mean is above the lowest unless all samples are equal, so it need not be computed: the
    first of the lowest wins, or the first of all where nothing tells them apart.
    """
    places, states = field.all_free(), field.states
    lowest = highest = None
    first = places[0] if places else None
    best = first
    for place in places:
        latency = states[place].latency_ema_ms
        if latency is None:
            continue
        if lowest is None or highest is None:
            lowest = highest = latency
            best = place
        elif latency < lowest:
            lowest, best = latency, place
        elif latency > highest:
            highest = latency
    return first if lowest == highest else best


def priority_based(field: Field) -> int | None:
    """Lowest priority number, the first among equals."""
    return next((place for place in field.table.by_priority if field.free(place)), None)


def fill_first(field: Field) -> int | None:
    """The first in candidate order."""
    return next((place for place in range(len(field.states)) if field.free(place)), None)


def usage_based(field: Field) -> int | None:
    """Lowest share of tpm used, no limit counts as 0, the first among equals."""
    return _least_used(field, requests=False)


def rate_limit_aware(field: Field) -> int | None:
    """Largest of min(remaining tpm share, remaining rpm share), the first among equals.

    Computed as the smallest of max(used tpm share, used rpm share).
    """
    return _least_used(field, requests=True)


def _least_used(field: Field, *, requests: bool) -> int | None:
    """Shares are compared as fractions (a/b < c/d as a*d < c*b): exact at any size."""
    candidates, states = field.table.candidates, field.states
    current = window(field.now)
    best: int | None = None
    least, of = 1, 0  # more than any share
    for place in field.all_free():
        state, candidate = states[place], candidates[place]
        used, limit = 0, 1
        if state.window == current:
            if candidate.tpm_limit is not None:
                used, limit = state.tpm_used, candidate.tpm_limit
            if requests and candidate.rpm_limit is not None:
                rpm, rpm_limit = state.rpm_used, candidate.rpm_limit
                if rpm * limit > used * rpm_limit:
                    used, limit = rpm, rpm_limit
        if used * of < least * limit or best is None:
            if not used:
                return place
            best, least, of = place, used, limit
    return best


Strategy = Callable[[Field], "int | None"]

BY_NAME: Mapping[str, Strategy] = {
    "simple_shuffle": simple_shuffle,
    "round_robin": round_robin,
    "round-robin": round_robin,
    "least_busy": least_busy,
    "latency_based": latency_based,
    "priority_based": priority_based,
    "cost_based": priority_based,
    "usage_based": usage_based,
    "rate_limit_aware": rate_limit_aware,
    "fill_first": fill_first,
    "fill-first": fill_first,
    "ff": fill_first,
}


def custom(selector: Selector, field: Field, request: SelectRequest) -> tuple[int | None, str]:
    """A registered callable's choice, or None and a note that says why it made none.

    It gets copies of the states and a generator of its own: whatever it does to them, or goes on
    doing when nobody waits for it any more, changes nothing here.
    """
    places = field.all_free()
    if not places:
        return None, ""
    given = [field.table.candidates[place] for place in places]
    states = [copy(field.states[place]) for place in places]
    rng = Random(field.rng.getrandbits(64))
    try:
        answer = selector(given, states, request, field.now, rng)
    except Exception as error:  # foreign code: whatever it raises, the request goes on
        return None, f"the custom selector raised {type(error).__name__}"
    if type(answer) is not int or not 0 <= answer < len(places):
        return None, "the custom selector answered with no place in its list"
    return places[answer], ""
