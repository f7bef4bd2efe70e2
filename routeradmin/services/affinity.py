"""Sessions that like to stay with one candidate, for routes with an affinity time."""

from __future__ import annotations

from collections import OrderedDict

from routeradmin.engine.snapshot import Route
from routeradmin.engine.state import CandidateKey

SESSIONS_KEPT = 100_000


class Affinity:
    """Which candidate served a session last, by route; the least recently used go first."""

    def __init__(self) -> None:
        self._served: OrderedDict[tuple[str, str], tuple[CandidateKey, float]] = OrderedDict()

    def preferred(self, route: Route, session: str | None, now: float) -> CandidateKey | None:
        if session is None or route.affinity_ttl_s <= 0:
            return None
        key, until = self._served.get((route.id, session), (None, 0.0))
        return key if until > now else None

    def served(self, route: Route, session: str | None, key: CandidateKey, now: float) -> None:
        if session is None or route.affinity_ttl_s <= 0:
            return
        self._served[route.id, session] = key, now + route.affinity_ttl_s
        self._served.move_to_end((route.id, session))
        while len(self._served) > SESSIONS_KEPT:
            self._served.popitem(last=False)
