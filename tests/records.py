"""Turn records as a journal holds them, in words."""

from __future__ import annotations

from typing import Any

from routeradmin.services.journal import TurnRecord
from routeradmin.services.served import Served


def told(record: TurnRecord) -> dict[str, Any]:
    return record.as_record() if isinstance(record, Served) else dict(record)
