"""``manage.py import_catalog``: a catalog file, checked whole and applied whole."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from routeradmin.catalog.files import read
from routeradmin.services import changes
from routeradmin.worker.management.loading import BY, loaded

DIFFERS = 2  # exit code of a dry run that would change something


class Command(BaseCommand):
    help = "Import a catalog file: all of it, or, when anything is wrong with it, nothing."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("file", help="its path, or - for the standard input")
        parser.add_argument("--format", choices=("auto", "toml", "json"), default="auto")
        parser.add_argument("--mode", choices=("merge", "replace"), default="merge")
        parser.add_argument(
            "--dry-run",
            action="store_true",
            help=f"only tell what would change; exits with {DIFFERS} when something would",
        )
        parser.add_argument("--reason", default="", help="noted in the revision")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            document = read(contents(options["file"]), options["format"])
            loaded()
            done = changes.replace_document(
                document,
                BY,
                mode=options["mode"],
                dry_run=options["dry_run"],
                reason=options["reason"],
            )
        except changes.Invalid as invalid:
            listed = "\n".join(map(str, invalid.problems))
            raise CommandError(f"nothing was imported:\n{listed}") from invalid
        for warning in done.warnings:
            self.stderr.write(f"warning: {warning}")
        if done.diff:
            self.stdout.write(done.diff.as_text())
        self.conclude(done, options["dry_run"])

    def conclude(self, done: changes.Imported, is_dry_run: bool) -> None:
        if is_dry_run:
            self.stdout.write("would change this" if done.changed else "no difference")
            if done.changed:
                sys.exit(DIFFERS)
        elif done.changed:
            self.stdout.write(f"published as revision {done.revision}")
        else:
            self.stdout.write(f"no difference: still revision {done.revision}")


def contents(name: str) -> bytes:
    """Raises CommandError."""
    if name == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(name).read_bytes()
    except OSError as problem:
        raise CommandError(f"cannot read {name}: {problem.strerror}") from problem
