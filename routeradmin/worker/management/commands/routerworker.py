"""``manage.py routerworker``: probes, retention and upkeep without serving requests."""

from __future__ import annotations

import asyncio
import signal
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from routeradmin.services import bootstrap
from routeradmin.services import runtime as runtimes
from routeradmin.worker import starting


class Command(BaseCommand):
    help = (
        "Run the background work of a system of several processes. Several may run: one leads, "
        "another takes over within ten seconds when it is gone."
    )
    requires_system_checks = "__all__"

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.IS_SHARED:
            raise CommandError(
                "a worker of its own shares state through PostgreSQL and Redis: set DATABASE_URL "
                "and REDIS_URL; 'serve' alone does this work itself"
            )
        try:
            asyncio.run(self.work())
        except bootstrap.NotMigrated as problem:
            raise CommandError(str(problem)) from problem

    async def work(self) -> None:
        """Until SIGTERM or SIGINT."""
        stopped = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stopped.set)
        await sync_to_async(bootstrap.require_migrated)()
        runtimes.get().plane = "none"
        worker = await starting.start(await runtimes.start())
        self.stdout.write("routeradmin worker started")
        self.stdout.flush()
        await stopped.wait()
        await worker.stop()
        await runtimes.stop()
