"""What is left of a tier once the static and administrative rules have spoken, ready to draw."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING

from routeradmin.engine.state import CandidateKey

if TYPE_CHECKING:
    from routeradmin.engine.snapshot import Candidate


class Table:
    """Candidates in order, grouped by deployment, with cumulative deployment weights.

    ``static`` has the static reasons of every candidate of the tier, those left out included.
    ``lasting``: later requests may meet this table again, so that keeping facts about it pays.
    ``safe_tokens``: a state that is not ``suspect`` has used at most half of its tpm limit, so no
    estimate up to this figure can be refused by it.
    """

    def __init__(
        self,
        candidates: Sequence[Candidate],
        static: Sequence[tuple[str, ...]] = (),
        *,
        lasting: bool = True,
    ) -> None:
        self.candidates = tuple(candidates)
        self.static = tuple(static)
        self.lasting = lasting
        groups: dict[str, list[int]] = {}
        for i, candidate in enumerate(self.candidates):
            groups.setdefault(candidate.deployment.id, []).append(i)
        self.groups = tuple(tuple(group) for group in groups.values())
        self.weights = tuple(self.candidates[g[0]].deployment.weight for g in self.groups)
        self.cumulative = tuple(accumulate(self.weights))
        self.total = self.cumulative[-1] if self.cumulative else 0
        limits = (c.tpm_limit for c in self.candidates if c.tpm_limit is not None)
        self.safe_tokens = min((limit - limit // 2 for limit in limits), default=1 << 62)

    @cached_property
    def index(self) -> dict[CandidateKey, int]:
        return {c.key: i for i, c in enumerate(self.candidates)}

    @cached_property
    def named(self) -> dict[str, tuple[int, ...]]:
        """Places by deployment id and by candidate id, as ``exclude`` names them."""
        by_deployment = {self.candidates[g[0]].deployment.id: g for g in self.groups}
        return {**{str(c.key): (i,) for i, c in enumerate(self.candidates)}, **by_deployment}

    @cached_property
    def by_priority(self) -> tuple[int, ...]:
        """Places from the lowest priority number up, in candidate order where equal."""
        priority = [c.deployment.priority for c in self.candidates]
        return tuple(sorted(range(len(priority)), key=priority.__getitem__))
