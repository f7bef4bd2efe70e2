"""``manage.py serve``: both planes, console and worker, in one process or in several."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, connection, connections

from routeradmin.adapters import directory_lock
from routeradmin.adapters.directory_lock import DirectoryInUse
from routeradmin.services import bootstrap
from routeradmin.services import runtime as runtimes
from routeradmin.services.metering import Siblings
from routeradmin.worker.scrapers import listening
from routeradmin.worker.serving import BACKLOG, CannotListen, Server, listen
from routeradmin.worker.static_files import collect_when_changed
from routeradmin.worker.supervising import CannotStart, Supervisor, own_command

LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})


class Command(BaseCommand):
    help = "Serve the console, the APIs and the worker. Migrates and prepares what is missing."
    requires_system_checks = "__all__"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="default: %(default)s")
        parser.add_argument(
            "--port", type=int, default=8000, help="default: %(default)s; 0 picks a free one"
        )
        parser.add_argument("--workers", type=int, default=1, help="processes that serve the port")
        parser.add_argument(
            "--plane",
            choices=("all", "data", "control"),
            default="all",
            help="data: decisions and inference; control: console and configuration",
        )
        parser.add_argument("--demo", action="store_true", help="with simulated providers")
        # From the process that watches the workers: its sockets, where to say "ready", and how to
        # find the figures of the others.
        for option in ("--listener", "--metrics", "--ready", "--number"):
            parser.add_argument(option, type=int, help=argparse.SUPPRESS)
        parser.add_argument("--siblings", type=Path, help=argparse.SUPPRESS)

    def handle(self, *args: Any, **options: Any) -> None:
        refuse_what_cannot_work(options["workers"], options["plane"], options["port"])
        if options["demo"] and options["workers"] > 1:
            raise CommandError("--demo plays in one process: leave out --workers")
        os.umask(0o077)  # what is written into the data directory is nobody else's
        runtimes.get().plane = options["plane"]
        with ending_quietly():
            if options["listener"] is not None:
                serve_as_worker(options)
            elif options["workers"] > 1:
                self.supervise(options)
            else:
                self.serve(options["host"], options["port"], options["demo"])

    def serve(self, host: str, port: int, with_demo: bool) -> None:
        if not settings.IS_SHARED:
            hold_directory()
        listener = bound(host, port)
        prepare()
        runtimes.get().is_demo = with_demo
        url = url_of(host, listener.getsockname()[1])

        async def greet() -> None:
            # Made only now, so that a start that fails cannot lose a password nobody has seen.
            made = await sync_to_async(bootstrap.first_admin)()
            self.greet(url, host, made)

        Server(greet, has_others=settings.IS_SHARED).run(sockets=[listener])

    def supervise(self, options: dict[str, Any]) -> None:
        host = options["host"]
        listener = bound(host, options["port"])
        listener.listen(BACKLOG)
        prepare()
        url = url_of(host, listener.getsockname()[1])

        def greet() -> None:
            self.greet(url, host, bootstrap.first_admin())
            connections.close_all()

        connections.close_all()
        command, metrics = own_command(options["plane"]), metrics_listener()
        try:
            Supervisor(command, listener, options["workers"], metrics).run(greet)
        except CannotStart as problem:
            raise CommandError(f"the workers do not start: {problem}") from problem

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
    if workers > 1 and not settings.IS_SHARED:
        raise CommandError(
            "several workers share state through PostgreSQL and Redis: set DATABASE_URL and "
            "REDIS_URL, or serve with --workers 1"
        )
    if plane != "all" and not settings.IS_SHARED:
        raise CommandError(
            "separate planes share state through PostgreSQL and Redis: set DATABASE_URL and "
            "REDIS_URL, or leave out --plane"
        )


def hold_directory() -> None:
    """Raises CommandError."""
    try:
        directory_lock.hold(settings.DATA_DIR)
    except DirectoryInUse as problem:
        raise CommandError(str(problem)) from problem


def bound(host: str, port: int) -> socket.socket:
    """Raises CommandError."""
    try:
        return listen(host, port)
    except CannotListen as problem:
        raise CommandError(
            f"cannot listen on {host} port {port} ({problem}): choose another with --port"
        ) from problem


def metrics_listener() -> socket.socket | None:
    """Raises CommandError."""
    if settings.METRICS_LISTEN is None:
        return None
    try:
        return listening(*settings.METRICS_LISTEN)
    except OSError as problem:
        raise CommandError(f"cannot listen for scrapers: {problem}") from problem


def serve_as_worker(options: dict[str, Any]) -> None:
    """One of several processes on a socket that another one watches."""
    ready, runtime = options["ready"], runtimes.get()
    runtime.siblings = Siblings(options["siblings"], options["number"])
    if options["metrics"] is not None:
        runtime.metrics_listener = socket.socket(fileno=options["metrics"])

    async def greet() -> None:
        os.write(ready, b"1")
        os.close(ready)

    server = Server(greet, has_others=True, supervised=True)
    server.run(sockets=[socket.socket(fileno=options["listener"])])


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
        bootstrap.migrate()
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
