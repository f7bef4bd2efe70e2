"""``manage.py import_catalog``: a catalog file, checked whole and applied whole.

Exit codes: 0 imported or no difference, 1 refused, 2 a dry run that found a difference.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from routeradmin.catalog.files import FORMATS, Remark
from routeradmin.services import changes
from routeradmin.worker.management.loading import BY, loaded

DIFFERS = 2  # exit code of a dry run that would change something


class Command(BaseCommand):
    help = "Import a catalog file: all of it, or, when anything is wrong with it, nothing."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("file", help="its path, or - for the standard input")
        parser.add_argument(
            "--format", choices=FORMATS, default="auto", help="auto: the content tells"
        )
        parser.add_argument(
            "--mode",
            choices=("merge", "replace"),
            default="merge",
            help="merge (default) removes nothing; replace removes what the file does not hold",
        )
        parser.add_argument(
            "--dry-run",
            action="store_true",
            help=f"only tell what would change; exits with {DIFFERS} when something would",
        )
        parser.add_argument("--reason", default="", help="noted in the revision")

    def handle(self, *args: Any, **options: Any) -> None:
        data = contents(options["file"])
        loaded()
        try:
            file = changes.import_file(
                data,
                BY,
                format=options["format"],
                mode=options["mode"],
                dry_run=options["dry_run"],
                reason=options["reason"],
            )
        except changes.Invalid as invalid:
            if isinstance(invalid, changes.Unfit):
                self.leave_open(invalid)
            listed = "\n".join(map(str, invalid.problems))
            raise CommandError(f"nothing was imported:\n{listed}") from invalid
        self.tell(file)
        self.conclude(file.imported, options["dry_run"])

    def tell(self, file: changes.FileImport) -> None:
        """What is open to the standard error, what changes to the standard output."""
        if file.source != "catalog":
            self.leave_open(file)
        for warning in file.imported.warnings:
            self.stderr.write(f"warning: {warning}")
        if file.imported.diff:
            self.stdout.write(file.imported.diff.as_text())
        for reference, what in file.imported.secrets.items():
            self.stdout.write(f"{'+' if what == 'added' else '~'} secret {reference}")

    def leave_open(self, file: changes.FileImport | changes.Unfit) -> None:
        """Told of a refused file as well: whoever corrects it sees all there is to correct."""
        self.stderr.write(f"read as a file of {file.source}")
        self.remark("not mapped", file.unmapped)
        self.remark("note", file.notes)

    def remark(self, word: str, remarks: tuple[Remark, ...]) -> None:
        for one in remarks:
            self.stderr.write(f"{word}: {one.place or '/'}: {one.detail}")

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
