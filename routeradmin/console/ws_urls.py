"""Sockets of the console."""

from __future__ import annotations

from django.urls import path

from routeradmin.console.consumers import LiveConsumer

websocket_urlpatterns = [path("ws/console", LiveConsumer.as_asgi())]
