"""``manage.py export_catalog``: the stored catalog as a file."""

from __future__ import annotations

import argparse
from typing import Any

from django.core.management.base import BaseCommand

from routeradmin.catalog import rows
from routeradmin.catalog.files import write
from routeradmin.worker.management.loading import require_tables


class Command(BaseCommand):
    help = "Print the catalog. Secrets appear as references only."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--format", choices=("toml", "json"), default="toml")

    def handle(self, *args: Any, **options: Any) -> None:
        require_tables()
        text = write(rows.load(), options["format"]).decode()
        self.stdout.write(text, ending="" if text.endswith("\n") else "\n")
