"""An ordinary async ninja view that makes the same decision, behind the default middleware."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest
from django.urls import include, path
from ninja import NinjaAPI

from routeradmin.services import runtime, selecting
from routeradmin.services.messages import Select

api = NinjaAPI(urls_namespace="bench", openapi_url=None)


@api.post("/select")
async def select(request: HttpRequest, message: Select) -> dict[str, Any]:
    rt = runtime.get()
    key = rt.keys.find(request.headers["authorization"].removeprefix("Bearer "), rt.clock())
    assert key is not None
    return (await selecting.select(rt, message, key)).as_dict()


patterns, app_name, namespace = api.urls
for pattern in patterns:
    if getattr(pattern, "callback", None) is not None:
        pattern.callback = login_not_required(pattern.callback)

urlpatterns = [
    path("bench/", (patterns, app_name, namespace)),
    path("", include("routeradmin.urls")),
]
