"""The last page: something broke, or the database is out of reach."""

from __future__ import annotations

import sys

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.template import loader


def broken(request: HttpRequest) -> HttpResponse:
    """503 while the database is gone, so that nobody takes an edit for saved; else 500."""
    gone = isinstance(sys.exc_info()[1], (OperationalError, InterfaceError))
    answer = HttpResponse(
        loader.render_to_string("503.html" if gone else "500.html"), status=503 if gone else 500
    )
    if gone:
        answer["Retry-After"] = "5"
    return answer
