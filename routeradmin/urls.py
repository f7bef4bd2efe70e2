"""What Django serves: the management API and the console."""

from __future__ import annotations

from django.urls import include, path

from routeradmin.api.urls import api_urls

urlpatterns = [
    path("api/v1/", api_urls),
    path("", include("routeradmin.console.urls")),
]
