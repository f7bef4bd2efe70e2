"""The webhooks in memory, with their secrets opened: sending must not depend on the database."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import Count, Max

from routeradmin.adapters.sealing import CannotOpen, Sealer, Secret
from routeradmin.alerting.models import Webhook

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Target:
    """``url`` may hold what only its owner should know: it is in no line and no record."""

    id: str
    url: str = field(repr=False)
    events: frozenset[str]
    is_enabled: bool
    secret: Secret

    def wants(self, type: str) -> bool:
        return self.is_enabled and (not self.events or type in self.events)


class Targets:
    """By id. ``load`` replaces all of them."""

    def __init__(self) -> None:
        self._by_id: dict[str, Target] = {}
        self._loaded: tuple[int, datetime | None] = (0, None)

    def __iter__(self) -> Iterator[Target]:
        return iter(list(self._by_id.values()))

    def get(self, id: str) -> Target | None:
        return self._by_id.get(id)

    def load(self, sealer: Sealer) -> None:
        self._loaded = _mark()
        found = {}
        for row in Webhook.objects.all():
            try:
                found[row.uid] = target_of(row, sealer)
            except CannotOpen as problem:
                log.error("%s", problem, extra={"webhook": row.uid})
        self._by_id = found

    def catch_up(self, sealer: Sealer) -> None:
        """Load what another process changed; one query when nothing did."""
        if _mark() != self._loaded:
            self.load(sealer)


def _mark() -> tuple[int, datetime | None]:
    found = Webhook.objects.aggregate(count=Count("pk"), latest=Max("updated_at"))
    return found["count"], found["latest"]


def target_of(row: Webhook, sealer: Sealer) -> Target:
    """Raises CannotOpen."""
    secret = sealer.open(row.ciphertext)
    return Target(row.uid, row.url, frozenset(row.events), row.is_enabled, secret)
