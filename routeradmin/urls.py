"""What Django serves: the management API and the console."""

from __future__ import annotations

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import include, path, re_path
from django.views.defaults import bad_request

from routeradmin.api import faults
from routeradmin.api.urls import api_missing, api_urls

handler500 = "routeradmin.faults.broken"

urlpatterns = [
    path("api/v1/", api_urls),
    re_path(r"^api(?:/|$)", api_missing),
    path("", include("routeradmin.console.urls")),
]


def handler400(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """What Django refuses before any view is asked, such as a host that is not ours: programs get
    a problem document here too."""
    if request.path.startswith("/api/"):
        return faults.on_suspicious(request, exception)
    return bad_request(request, exception)
