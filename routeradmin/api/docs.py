"""The API's own page: Swagger UI from this server's static files."""

from __future__ import annotations

import json
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from ninja import NinjaAPI, Swagger


class Docs(Swagger):
    """Sends the session's CSRF token along, so that "try it out" may write."""

    def render_page(self, request: HttpRequest, api: NinjaAPI, **kwargs: Any) -> HttpResponse:
        settings = {**self.settings, "url": self.get_openapi_url(api, kwargs)}
        context = {
            "swagger_settings": json.dumps(settings, indent=1),
            "api": api,
            "add_csrf": True,
        }
        return render(request, self.template, context)
