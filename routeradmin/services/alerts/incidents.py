"""From what is wrong at each look to what is worth telling: once when it begins, once when over."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from routeradmin.services.alerts.messages import FIRING, RESOLVED, Condition, Message, message

SETTLE_S = 60.0  # what comes back sooner was never over
REPEAT_S = 3600.0  # what lasts is told again


@dataclass(slots=True)
class Incident:
    condition: Condition
    seen_at: float
    told_at: float


class Incidents:
    """Those that go on. Kept in memory: after a restart what is still wrong is told again."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, str], Incident] = {}

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
            self._open[condition.key] = Incident(condition, now, now)
            return True
        known.condition, known.seen_at = condition, now
        if now - known.told_at < REPEAT_S:
            return False
        known.told_at = now
        return True
