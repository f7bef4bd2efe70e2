"""What Django serves: the management API and the console."""

from __future__ import annotations

from django.urls import include, path, re_path

from routeradmin.api.urls import api_missing, api_urls

handler500 = "routeradmin.faults.broken"

urlpatterns = [
    path("api/v1/", api_urls),
    re_path(r"^api(?:/|$)", api_missing),
    path("", include("routeradmin.console.urls")),
]
