"""Sockets of the console."""

from __future__ import annotations

from django.urls import path, re_path

from routeradmin.console.consumers import LiveConsumer, NowhereConsumer

websocket_urlpatterns = [
    path("ws/console", LiveConsumer.as_asgi()),
    re_path(r"", NowhereConsumer.as_asgi()),
]
