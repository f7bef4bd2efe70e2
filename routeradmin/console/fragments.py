"""HTML of a socket frame: the changed cells, each rendered once for every viewer.

The page includes the same cell templates. Cells hold no controls, so that a frame never touches
what a person is typing in or has opened.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.template.loader import get_template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from routeradmin.console import board
from routeradmin.services.live import Delta

FIGURES = ("healthy", "cooling", "draining", "needs-attention", "unhealthy", "active", "rpm")


def partial(cell: str, content: str) -> SafeString:
    """Replace the content of every element that shows ``cell``, wherever it is on the page."""
    return format_html(
        '<hx-partial hx-target="[data-cell={}]" hx-swap="innerMorph">{}</hx-partial>',
        cell,
        content,
    )


def _rendered(template: str, context: Mapping[str, Any]) -> SafeString:
    return SafeString(get_template(f"console/live/{template}").render(dict(context)))


def render(delta: Delta) -> Iterator[SafeString]:
    """The frame's fragments one by one, so that a long frame can be made in slices."""
    for row, cells in delta.rows:
        dressed = board.dressed(row)
        for cell in cells:
            content = _rendered(f"_cell_{cell}.html", {"row": dressed})
            yield partial(f"{dressed['dom']}-{cell}", content)
    if delta.rows:
        yield from _sums(delta)
    if delta.changes:
        newest_first = list(reversed(delta.changes))
        yield format_html(
            '<hx-partial hx-target="#tail" hx-swap="afterbegin">{}</hx-partial>',
            _rendered("_tail.html", {"changes": newest_first}),
        )


def _sums(delta: Delta) -> Iterator[SafeString]:
    sums = board.summary(delta.all_rows)
    for name in FIGURES:
        of = sums["total"] if name == "healthy" else None
        context = {"value": sums[name], "state": name, "of": of}
        yield partial(f"sum-{name}", _rendered("_figure.html", context))
    health = board.health_by_route(delta.all_rows)
    for route_id in {route_id for row, _ in delta.rows for route_id in row["routes"] or ("",)}:
        healthy, total = health[route_id]
        content = _rendered("_cell_group.html", {"healthy": healthy, "total": total})
        yield partial(f"{board.group_id(route_id)}-health", content)
