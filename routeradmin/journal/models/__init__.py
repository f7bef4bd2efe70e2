"""The journal's tables: events, turns with attempts, audit, durable candidate state."""

from __future__ import annotations

from routeradmin.journal.models.audit import AuditEntry
from routeradmin.journal.models.candidate import CandidateRecord
from routeradmin.journal.models.event import Event
from routeradmin.journal.models.intent_feedback import IntentFeedback
from routeradmin.journal.models.turn import Attempt, Turn

__all__ = ["Attempt", "AuditEntry", "CandidateRecord", "Event", "IntentFeedback", "Turn"]
