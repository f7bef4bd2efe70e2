"""``manage.py load_intents``: the shipped intents, each with the route that serves it."""

from __future__ import annotations

import argparse
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from routeradmin.services import changes
from routeradmin.services.intent import shipped
from routeradmin.worker.management.loading import BY, loaded


class Command(BaseCommand):
    help = "Take the shipped intents into the catalog; those it has already stay as they are."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "routes",
            nargs="+",
            metavar="INTENT=ROUTE",
            help="an intent (coding, fast, reasoning, secure, vision) and the id of its route",
        )
        parser.add_argument("--overwrite", action="store_true", help="also those it has already")
        parser.add_argument("--enable", action="store_true", help="let auto go by intents")
        parser.add_argument(
            "--embedder", default="", help="with --enable: none, wordllama or a route's alias"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        routes = dict(_pair(text) for text in options["routes"])
        loaded()
        try:
            done = shipped.load(routes, BY, overwrite=options["overwrite"])
            if options["enable"]:
                settings = {"enabled": True}
                if options["embedder"]:
                    settings["embedder"] = options["embedder"]
                changes.update_defaults({"intents": settings}, BY, if_match=changes.ANY)
        except changes.Invalid as invalid:
            listed = "\n".join(map(str, invalid.problems))
            raise CommandError(f"no intent was loaded:\n{listed}") from invalid
        for warning in done.warnings:
            self.stderr.write(f"warning: {warning}")
        self.stdout.write(done.diff.as_text() or "no difference")


def _pair(text: str) -> tuple[str, str]:
    intent, mark, route = text.partition("=")
    if not (intent and mark and route):
        raise CommandError(f"{text!r} must look like coding=route-id")
    return intent, route
