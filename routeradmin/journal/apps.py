from __future__ import annotations

from django.apps import AppConfig


class JournalConfig(AppConfig):
    name = "routeradmin.journal"
