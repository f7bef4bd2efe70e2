"""The management API; ``api_urls`` is what Django mounts."""

from __future__ import annotations

from routeradmin.api.urls import api_urls

__all__ = ["api_urls"]
