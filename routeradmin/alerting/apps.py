from __future__ import annotations

from django.apps import AppConfig


class AlertingConfig(AppConfig):
    name = "routeradmin.alerting"
