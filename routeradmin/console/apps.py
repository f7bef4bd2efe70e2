from __future__ import annotations

from django.apps import AppConfig


class ConsoleConfig(AppConfig):
    name = "routeradmin.console"
