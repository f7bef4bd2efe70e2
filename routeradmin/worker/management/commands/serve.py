"""``manage.py serve``: both planes, console and worker in one process."""

from __future__ import annotations

import argparse
import contextlib
import logging
import socket
from typing import Any

import uvicorn
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from routeradmin.services import bootstrap

GRACE_S = 10  # how long open requests may go on after the first Ctrl-C


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
        refuse_what_cannot_work(options["workers"], options["plane"])
        listener = listen(options["host"], options["port"])
        call_command("migrate", interactive=False, verbosity=0)
        call_command("collectstatic", interactive=False, verbosity=0)
        self.greet(options["host"], listener.getsockname()[1])
        if options["demo"]:
            bootstrap.want_demo()
        serve(listener)

    def greet(self, host: str, port: int) -> None:
        shown = f"[{host}]" if ":" in host else host
        made = bootstrap.first_admin()
        self.stdout.write(f"routeradmin on http://{shown}:{port}")
        if made is not None:
            self.stdout.write(f"first admin: {made[0]}  password: {made[1]}  (shown only now)")
        self.stdout.flush()


def refuse_what_cannot_work(workers: int, plane: str) -> None:
    """Raises CommandError in words that say what to do."""
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


def listen(host: str, port: int) -> socket.socket:
    """The listening socket, made before anything else so that a taken port stops the start."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as problem:
        listener.close()
        raise CommandError(
            f"cannot listen on {host} port {port}: {problem.strerror}; choose another with --port"
        ) from problem
    return listener


def serve(listener: socket.socket) -> None:
    config = uvicorn.Config(
        "routeradmin.asgi:application",
        loop="uvloop",
        http="httptools",
        ws="websockets-sansio",
        lifespan="on",
        access_log=False,
        log_config=None,
        log_level=logging.WARNING,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=GRACE_S,
        proxy_headers=False,
        backlog=2048,
    )
    # uvicorn raises the captured Ctrl-C again once everything is stopped: not a failure.
    with contextlib.suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listener])
