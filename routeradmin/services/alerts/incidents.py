"""From what is wrong at each look to what is worth telling: once when it begins, once when over."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass

from routeradmin.services.alerts.messages import FIRING, RESOLVED, Condition, Message, message

SETTLE_S = 60.0  # what comes back sooner was never over
REPEAT_S = 3600.0  # what lasts is told again


@dataclass(slots=True)
class Incident:
    condition: Condition
    began_at: float
    seen_at: float
    told_at: float


class Incidents:
    """Those that go on."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, str], Incident] = {}

    @property
    def open(self) -> Mapping[tuple[str, str], Incident]:
        return self._open

    def adopt(self, condition: Condition, began_at: float, now: float) -> None:
        """Go on with what another process, or this one before a restart, has told already."""
        if condition.key not in self._open:
            self._open[condition.key] = Incident(condition, began_at, now, now)

    def let_go(self, types: Container[str]) -> None:
        """Forget these without a word: it is another process that looks after them now."""
        for key in [key for key in self._open if key[0] in types]:
            del self._open[key]

    def step(self, present: Iterable[Condition], now: float, process: str) -> list[Message]:
        """The messages that this look gives rise to, at most two for each type."""
        begun: dict[str, list[Condition]] = {}
        ended: dict[str, list[Condition]] = {}
        for condition in present:
            if self._is_news(condition, now):
                begun.setdefault(condition.type, []).append(condition)
        for key, incident in list(self._open.items()):
            if now - incident.seen_at >= SETTLE_S:
                del self._open[key]
                ended.setdefault(incident.condition.type, []).append(incident.condition)
        return [
            *(message(type, FIRING, found, now, process) for type, found in begun.items()),
            *(message(type, RESOLVED, found, now, process) for type, found in ended.items()),
        ]

    def _is_news(self, condition: Condition, now: float) -> bool:
        known = self._open.get(condition.key)
        if known is None:
            self._open[condition.key] = Incident(condition, now, now, now)
            return True
        known.condition, known.seen_at = condition, now
        if now - known.told_at < REPEAT_S:
            return False
        known.told_at = now
        return True
