"""Prefers deployments tagged with one of the request's tags, and of those the least busy.

A request with ``x-routeradmin-tags: us-west`` goes to a deployment tagged ``us-west`` while there
is one; without any, all of them count.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from routeradmin.engine.request import SelectRequest
    from routeradmin.engine.snapshot import Candidate
    from routeradmin.engine.state import CandidateState


class NearestRegion:
    def __call__(
        self,
        candidates: Sequence[Candidate],
        states: Sequence[CandidateState],
        request: SelectRequest,
        now: float,
        rng: Random,
    ) -> int:
        places = range(len(candidates))
        near = [p for p in places if request.tags.intersection(candidates[p].deployment.tags)]
        fewest = min(states[p].active for p in near or places)
        return rng.choice([p for p in near or places if states[p].active == fewest])
