"""What a client would like of a route's own targets, in OpenRouter's words.

They only ever narrow and order what the route permits: tiers keep their order, rules hold, and a
word that fits nothing has no effect but that of ``only``, which then leaves nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from routeradmin.engine.state import CandidateState

if TYPE_CHECKING:
    from routeradmin.engine.snapshot import Candidate, Route

SORTS = ("price", "latency", "throughput")
_LAST = float("inf")


class Preferences(NamedTuple):
    """Names are provider ids, provider names or deployment ids; case does not count.

    ``order``: these first, in this order; ``only`` and ``ignore``: these alone, never these;
    ``allow_fallbacks`` False: nothing beyond ``order``, or beyond the first tier where there is
    none; ``sort``: the best by price, latency or throughput instead of the route's strategy.
    ``unknown`` are words that were given and mean nothing here.
    """

    order: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    allow_fallbacks: bool = True
    sort: str | None = None
    unknown: tuple[str, ...] = ()

    @property
    def ranks(self) -> bool:
        return bool(self.order) or self.sort is not None

    @property
    def bars(self) -> bool:
        """Whether it can leave candidates out."""
        return bool(self.only or self.ignore or (self.order and not self.allow_fallbacks))

    @property
    def first_tier_only(self) -> bool:
        return not self.allow_fallbacks and not self.order

    def forbids(self, candidate: Candidate) -> bool:
        if self.only and _place(self.only, candidate) is None:
            return True
        if self.ignore and _place(self.ignore, candidate) is not None:
            return True
        listed_only = bool(self.order) and not self.allow_fallbacks
        return listed_only and _place(self.order, candidate) is None

    def rank(self, candidate: Candidate, state: CandidateState) -> tuple[int, float]:
        """The lower the better; what is equal is the strategy's to choose from."""
        place = _place(self.order, candidate) if self.order else 0
        return len(self.order) if place is None else place, self._measure(candidate, state)

    def _measure(self, candidate: Candidate, state: CandidateState) -> float:
        if self.sort == "price":
            prices = (candidate.deployment.input_price, candidate.deployment.output_price)
            return sum(p for p in prices if p is not None) if any_given(prices) else _LAST
        if self.sort in ("latency", "throughput"):
            # Nothing but time to the whole answer is measured: less of it is more throughput.
            return _LAST if state.latency_ema_ms is None else state.latency_ema_ms
        return 0.0

    def as_json(self, route: Route) -> dict[str, Any]:
        """What was asked for, and what of it this route has no use for."""
        asked: dict[str, Any] = {
            name: list(getattr(self, name))
            for name in ("order", "only", "ignore")
            if getattr(self, name)
        }
        if not self.allow_fallbacks:
            asked["allow_fallbacks"] = False
        if self.sort is not None:
            asked["sort"] = self.sort
        return {"asked": asked, "dropped": list(self._dropped(route))}

    def _dropped(self, route: Route) -> Iterable[dict[str, str]]:
        for word in self.unknown:
            yield {"word": word, "why": "is not a preference that is understood here"}
        tiers = route.tiers if route.fallback_enabled else route.tiers[:1]
        reachable = [candidate for tier in tiers for candidate in tier.candidates]
        for word in ("order", "only", "ignore"):
            for name in getattr(self, word):
                if all(_place((name,), candidate) is None for candidate in reachable):
                    yield {"word": word, "name": name, "why": "is no target this route permits"}


def any_given(figures: Sequence[float | None]) -> bool:
    return any(figure is not None for figure in figures)


def _place(names: Sequence[str], candidate: Candidate) -> int | None:
    """Where the candidate's provider or deployment stands in the list."""
    deployment = candidate.deployment
    provider = deployment.provider
    own = {provider.id.casefold(), provider.name.casefold(), deployment.id.casefold()}
    return next((place for place, name in enumerate(names) if name.casefold() in own), None)
