"""``manage.py create_key``: an API key, printed once."""

from __future__ import annotations

import argparse
import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from routeradmin.catalog.models import Route
from routeradmin.services import changes
from routeradmin.worker.management.loading import BY, require_tables


def words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


class Command(BaseCommand):
    help = "Make an API key. Its text is printed this once and kept nowhere."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--name", required=True)
        parser.add_argument(
            "--scopes", required=True, type=words, help="select,secrets,inference,read,write,admin"
        )
        parser.add_argument("--routes", type=words, help="route ids it may use; without: all")
        parser.add_argument("--json", action="store_true", help="the key's fields and its text")

    def handle(self, *args: Any, **options: Any) -> None:
        require_tables()
        fields = {name: options[name] for name in ("name", "scopes", "routes")}
        try:
            row, token = changes.create_key(fields, BY)
        except changes.Invalid as invalid:
            raise CommandError("\n".join(map(str, invalid.problems))) from invalid
        self.warn_of_unknown(options["routes"] or [])
        if options["json"]:
            self.stdout.write(json.dumps({**changes.key_values(row), "key": token}))
        else:
            self.stdout.write(token)

    def warn_of_unknown(self, routes: list[str]) -> None:
        """A key may be made before its routes are, so a mistyped id is told, not refused."""
        known = set(Route.objects.values_list("uid", flat=True))
        for route in sorted(set(routes) - known):
            self.stderr.write(
                f"warning: there is no route {route!r}: the key serves it once there is; "
                f"--routes takes ids ({', '.join(sorted(known)[:10]) or 'none yet'}), not aliases"
            )
