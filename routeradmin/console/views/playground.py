"""The playground: the browser sends a real request to the inference API and shows its turn.

The request goes to the same address as any program's and needs a key like any program; the key
stays in the browser's memory.
"""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from routeradmin.console import catalog, errands


@require_safe
def show(request: HttpRequest) -> HttpResponse:
    document = catalog.document()
    names = {route.alias for route in document.routes} | {one.name for one in document.aliases}
    offered = sorted(name for name in names if "*" not in name)
    first = "chat" if "chat" in offered else offered[0] if offered else ""
    lacking = [] if document.routes else ["routes"]
    context = {
        "names": offered,
        "model": request.GET.get("model", first),
        "errands": errands.to_add(request, lacking),
    }
    return render(request, "console/playground/page.html", context)
