"""``manage.py serve``: both planes, console and worker in one process."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
from collections.abc import Iterator
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, connection

from routeradmin.adapters import directory_lock
from routeradmin.adapters.directory_lock import DirectoryInUse
from routeradmin.services import bootstrap
from routeradmin.services import runtime as runtimes
from routeradmin.worker.serving import CannotListen, Server, listen
from routeradmin.worker.static_files import collect_when_changed

LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})


class Command(BaseCommand):
    help = "Serve the console, the APIs and the worker. Migrates and prepares what is missing."
    requires_system_checks = "__all__"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=8000, help="0 picks a free one")
        parser.add_argument("--workers", type=int, default=1)
        parser.add_argument("--plane", choices=("all", "data", "control"), default="all")
        parser.add_argument("--demo", action="store_true", help="with simulated providers")

    def handle(self, *args: Any, **options: Any) -> None:
        refuse_what_cannot_work(options["workers"], options["plane"], options["port"])
        os.umask(0o077)  # what is written into the data directory is nobody else's
        with ending_quietly():
            self.serve(options["host"], options["port"], options["demo"])

    def serve(self, host: str, port: int, with_demo: bool) -> None:
        try:
            directory_lock.hold(settings.DATA_DIR)
            listener = listen(host, port)
        except DirectoryInUse as problem:
            raise CommandError(str(problem)) from problem
        except CannotListen as problem:
            raise CommandError(
                f"cannot listen on {host} port {port} ({problem}): choose another with --port"
            ) from problem
        prepare()
        runtimes.get().is_demo = with_demo
        url = url_of(host, listener.getsockname()[1])

        async def greet() -> None:
            # Made only now, so that a start that fails cannot lose a password nobody has seen.
            made = await sync_to_async(bootstrap.first_admin)()
            self.greet(url, host, made)

        Server(greet).run(sockets=[listener])

    def greet(self, url: str, host: str, made: tuple[str, str] | None) -> None:
        self.stdout.write(f"routeradmin on {url}")
        if made is not None:
            self.stdout.write(f"first admin: {made[0]}  password: {made[1]}  (shown only now)")
        if not is_loopback(host) and set(settings.ALLOWED_HOSTS) <= LOOPBACK:
            self.stdout.write(
                "only loopback host names are answered: set ROUTERADMIN_ALLOWED_HOSTS to the names "
                "that browsers and programs will use"
            )
        self.stdout.flush()


def refuse_what_cannot_work(workers: int, plane: str, port: int) -> None:
    """Raises CommandError in words that say what to do."""
    if not 0 <= port <= 65_535:
        raise CommandError("--port accepts 0 to 65535; 0 picks a free one")
    if workers < 1:
        raise CommandError("--workers accepts 1 or more")
    if workers > 1 and not (settings.DATABASE_URL.startswith("postgres") and settings.REDIS_URL):
        raise CommandError(
            "several workers share state through PostgreSQL and Redis: set DATABASE_URL and "
            "REDIS_URL, or serve with --workers 1"
        )
    if workers > 1 or plane != "all":
        raise CommandError(
            "this release serves everything from one process; several workers and separate planes "
            "are not there yet"
        )


@contextlib.contextmanager
def ending_quietly() -> Iterator[None]:
    """Ctrl-C and SIGTERM end the block without a word, at whatever point they come.

    uvicorn raises the signal it stopped for again once everything is stopped: no failure either.
    """
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with contextlib.suppress(KeyboardInterrupt):
            yield
    finally:
        signal.signal(signal.SIGTERM, before)


def prepare() -> None:
    """Migrate, and collect static files where they changed. Raises CommandError."""
    try:
        call_command("migrate", interactive=False, verbosity=0)
    except DatabaseError as problem:
        name = connection.settings_dict["NAME"]
        raise CommandError(f"the database {name} cannot be used: {problem}") from problem
    try:
        collect_when_changed()
    except OSError as problem:
        raise CommandError(
            f"cannot write the static files to {settings.STATIC_ROOT} ({problem.strerror}): make "
            "room or set ROUTERADMIN_DATA_DIR"
        ) from problem


def url_of(host: str, port: int) -> str:
    """Where to point a browser: an address that stands for all of them is not one of those."""
    shown = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host)  # noqa: S104
    return f"http://{f'[{shown}]' if ':' in shown else shown}:{port}"


def is_loopback(host: str) -> bool:
    return host in ("localhost", "::1") or host.startswith("127.")
