"""Turns whose first attempt answered, which nearly all are: kept as they came, put into words by
whoever reads them. Under load there are thousands a second, and hardly one is ever looked at."""

from __future__ import annotations

from typing import Any, NamedTuple

from routeradmin.engine.request import SelectRequest
from routeradmin.engine.resolve import Resolved
from routeradmin.engine.state import Outcome
from routeradmin.engine.turn import Turn
from routeradmin.engine.turn_steps import Try
from routeradmin.services.turn_record import as_record


class Served(NamedTuple):
    """``step`` is where the attempt went, ``key_id`` the caller's; moments are epoch seconds. What
    else was asked for is not kept: it may be large, and no record tells it."""

    id: str
    request_id: str
    resolved: Resolved
    key_id: str | None
    step: Try
    started_at: float
    began_at: float
    ended_at: float
    outcome: Outcome
    visible_events: int
    overhead_ms: float = 0.0

    def as_record(self) -> dict[str, Any]:
        """The turn as ``GET /turns/{id}`` shows it: what the machine says of such a turn."""
        request = SelectRequest(self.resolved.requested, key_id=self.key_id)
        turn = Turn.start(self.id, self.resolved, request, self.started_at)
        turn.catch_up(self.step, self.began_at, "")
        turn.tell(self.outcome, self.ended_at, visible_events=self.visible_events)
        return as_record(turn, request_id=self.request_id, overhead_ms=self.overhead_ms)
