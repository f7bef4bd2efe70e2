"""``manage.py retain``: delete records that are past their time."""

from __future__ import annotations

import argparse
from collections import Counter
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from routeradmin.services import publishing, retention
from routeradmin.services import runtime as runtimes
from routeradmin.services.retention import Keeping
from routeradmin.worker.management.loading import require_tables


class Command(BaseCommand):
    help = "Delete old turns, events and secrets that nothing has named for long."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        for noun, keeping in (("turn", retention.TURNS), ("event", retention.EVENTS)):
            older, more = f"{noun}s older than this go", f"the oldest {noun}s beyond so many go"
            default = "; default: %(default)s"
            parser.add_argument(
                f"--{noun}-days", type=float, default=keeping.days, help=older + default
            )
            parser.add_argument(
                f"--{noun}-count", type=int, default=keeping.most, help=more + default
            )

    def handle(self, *args: Any, **options: Any) -> None:
        require_tables()
        turns = Keeping(options["turn_days"], options["turn_count"])
        events = Keeping(options["event_days"], options["event_count"])
        if min(turns.days, turns.most, events.days, events.most) < 0:
            raise CommandError("days and counts accept 0 or more")
        now = publishing.moment(runtimes.get())
        deleted: Counter[str] = Counter()
        for kind, count in retention.delete_old(now, turns, events):
            deleted[kind] += count
        for kind in ("turns", "events", "secrets"):
            self.stdout.write(f"{kind}: {deleted[kind]} deleted")
