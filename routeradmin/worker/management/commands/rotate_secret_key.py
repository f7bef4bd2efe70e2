"""``manage.py rotate_secret_key``: stored secrets, sealed anew with the newest encryption key."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from routeradmin.adapters.sealing import CannotOpen
from routeradmin.services import changes
from routeradmin.worker.management.loading import BY, require_tables


class Command(BaseCommand):
    help = (
        "Seal every stored secret with the newest key of ROUTERADMIN_ENCRYPTION_KEYS. Put the new "
        "key first and keep the old ones behind it until this has run."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        require_tables()
        try:
            count = changes.rotate_sealing(BY)
        except CannotOpen as problem:
            raise CommandError(f"nothing was changed: {problem}") from problem
        self.stdout.write(f"sealed {count} secrets anew; the older keys are no longer needed")
