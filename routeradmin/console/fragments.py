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

from routeradmin.console import board, standing
from routeradmin.console.templatetags.console import state_badge
from routeradmin.services.live import Delta, Row, Standing

FIGURES = tuple(name for name, _ in board.FIGURES if name != "errors")


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
    if delta.moved:
        yield from _health(delta)
        yield from _worst(delta)
    if delta.standing:
        yield from _standing(delta.standing)
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


def _health(delta: Delta) -> Iterator[SafeString]:
    """How many are healthy, for every group that has a candidate whose state changed."""
    for kind, names_of in standing.BY_KIND.items():
        touched = {name for row in delta.moved for name in names_of(row)}
        health = board.health_by(names_of, delta.all_rows)
        for name in touched:
            healthy, total = health[name]
            content = _rendered("_cell_group.html", {"healthy": healthy, "total": total})
            yield partial(f"{board.group_id(kind, name)}-health", content)


def _worst(delta: Delta) -> Iterator[SafeString]:
    """The badge of every deployment that has a candidate whose state changed."""
    touched = {row["deployment"] for row in delta.moved}
    of: dict[str, list[Row]] = {}
    for row in delta.all_rows:
        if row["deployment"] in touched:
            of.setdefault(row["deployment"], []).append(row)
    for deployment, rows in of.items():
        yield partial(board.worst_id(deployment), state_badge(board.worst(rows)))


def _standing(now: Standing) -> Iterator[SafeString]:
    yield partial("revision", _rendered("_cell_revision.html", {"standing": now}))
    yield partial("notices", _rendered("_cell_notices.html", {"standing": now}))
