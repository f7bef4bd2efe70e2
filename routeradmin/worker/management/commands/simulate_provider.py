"""``manage.py simulate_provider``: the simulated upstream on a port of its own."""

from __future__ import annotations

import asyncio
import signal
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import orjson
import uvloop
from django.core.management.base import BaseCommand, CommandError

from routeradmin.adapters.simulated import SimulatedProvider, running
from routeradmin.adapters.simulated.control import BadScript, load
from routeradmin.adapters.simulated.provider import MODELS


class Command(BaseCommand):
    help = (
        "Serve a simulated OpenAI and Anthropic provider. Set faults with PUT /_script, "
        "read counts with GET /_calls. The first line printed is the URL."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=8001, help="0 picks a free one")
        parser.add_argument(
            "--models", default=",".join(MODELS), help="the names it lists, separated by commas"
        )
        parser.add_argument("--keep-bodies", action="store_true", help="show them in GET /_calls")
        parser.add_argument("--script", type=Path, help="a JSON file, as PUT /_script takes it")

    def handle(self, *args: Any, **options: Any) -> None:
        models = [name.strip() for name in options["models"].split(",") if name.strip()]
        provider = SimulatedProvider(models=models, keep_bodies=options["keep_bodies"])
        if options["script"]:
            _load_file(provider, options["script"])
        try:
            uvloop.run(self._serve(provider, options["host"], options["port"]))
        except OSError as problem:
            place = f"{options['host']}:{options['port']}"
            raise CommandError(f"cannot listen on {place} ({problem}); try --port 0") from problem

    async def _serve(self, provider: SimulatedProvider, host: str, port: int) -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop.set)
        async with running(port, host=host, provider=provider) as url:
            self.stdout.write(url)
            self.stdout.flush()
            await stop.wait()


def _load_file(provider: SimulatedProvider, path: Path) -> None:
    try:
        load(provider, orjson.loads(path.read_bytes()))
    except (OSError, orjson.JSONDecodeError, BadScript) as problem:
        raise CommandError(f"{path}: {problem}") from problem
