"""Template tags of the console: state badges, meters, times, and links that keep the query."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from django import template
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from routeradmin.console import catalog
from routeradmin.console.navigation import SECTIONS
from routeradmin.console.nouns import route_of, routes_of
from routeradmin.console.shortcuts import SHORTCUTS, Shortcut
from routeradmin.engine.state import CandidateKey
from routeradmin.services.heartbeats import Heartbeats

register = template.Library()

STATE_WORDS = {
    "healthy": "healthy",
    "degraded": "degraded",
    "recovering": "recovering",
    "cooling": "cooling",
    "at-limit": "at limit",
    "unhealthy": "unhealthy",
    "draining": "draining",
    "disabled": "disabled",
    "needs-attention": "needs attention",
    "enabled": "enabled",
}


@register.simple_tag
def state_badge(state: str) -> SafeString:
    """Shape, word and colour of one state."""
    return format_html(
        '<span class="state s-{0}"><svg aria-hidden="true"><use href="#s-{0}"/></svg>{1}</span>',
        "healthy" if state == "enabled" else state,
        STATE_WORDS.get(state, state),
    )


@register.filter
def state_word(state: str) -> str:
    return STATE_WORDS.get(state, state)


@register.simple_tag
def meter(used: float, limit: float | None) -> SafeString | str:
    """A thin bar; nothing without a limit. The numbers beside it say the same in text."""
    if limit is None:
        return ""
    share = 1.0 if limit <= 0 else min(1.0, used / limit)
    level = "full" if share >= 1 else "high" if share >= 0.8 else "fill"
    return format_html(
        '<svg class="bar" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">'
        '<rect class="track" width="100" height="4"/>'
        '<rect class="{}" width="{}" height="4"/></svg>',
        level if level == "fill" else f"fill {level}",
        round(100 * share, 1),
    )


@register.inclusion_tag("console/parts/_cell.html")
def route_name(uid: str) -> dict[str, Any]:
    """A route as it is called everywhere: its alias, and its id where that differs."""
    return {"cell": route_of(catalog.index(), uid)}


@register.inclusion_tag("console/parts/_cell.html")
def route_names(uids: Iterable[str]) -> dict[str, Any]:
    return {"cell": routes_of(catalog.index(), uids)}


@register.simple_tag
def share_bar(share: float) -> SafeString:
    """A bar of a part of the whole, 0 to 1; the percentage beside it says the same in text."""
    return format_html(
        '<svg class="bar" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">'
        '<rect class="track" width="100" height="4"/>'
        '<rect class="fill" width="{}" height="4"/></svg>',
        round(100 * share, 1),
    )


BEAT_NAMES = (("o", "ok"), ("e", "error"), ("l", "limited"), ("c", "cooling"))
BEAT_WORDS = {"o": "with traffic", "e": "with errors", "l": "rate-limited", "c": "cooling"}


# Each kind of tick has a form of its own, so that colour is not needed: half, whole, broken, top.
BEAT_SHAPES = {"o": ((4, 6),), "e": ((0, 10),), "l": ((0, 4), (6, 4)), "c": ((0, 5),)}


def beat_path(ticks: str, letter: str) -> str:
    """An SVG path of one bar per tick of that letter; ticks are 4 units wide."""
    return "".join(
        f"M{4 * n} {top}h3v{height}h-3z"
        for n, tick in enumerate(ticks)
        if tick == letter
        for top, height in BEAT_SHAPES[letter]
    )


@register.simple_tag
def heartbeat(beats: Heartbeats, row: Mapping[str, Any]) -> SafeString:
    """The last 15 minutes as bars, with their sum in words."""
    key = CandidateKey(row["deployment"], row["credential"], row["matched"] or "")
    ticks = beats.of(key)
    told = [f"{ticks.count(letter)} {word}" for letter, word in BEAT_WORDS.items()]
    paths = format_html_join(
        "", '<path class="b-{}" d="{}"/>', ((name, beat_path(ticks, x)) for x, name in BEAT_NAMES)
    )
    return format_html(
        '<svg class="beats" viewBox="0 0 240 10" preserveAspectRatio="none" role="img" '
        'data-beats="{0}" data-ticks="{1}" aria-label="{2}">'
        '<path class="b-none" d="M0 8h240v2H0z"/>{3}</svg>',
        row["id"],
        ticks,
        "Last 15 minutes, of 60 ticks: " + ", ".join(told),
        paths,
    )


@register.filter
def count(value: float | None) -> str:
    """1234567 as 1.23M; a missing figure as a dash."""
    if value is None:
        return "–"
    for size, suffix in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= size:
            unit = 1e3 if suffix == "k" else size
            return f"{value / unit:.3g}{suffix}"
    return f"{value:,.0f}".replace(",", " ")


@register.filter
def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


@register.filter
def duration_ms(value: float | None) -> str:
    if value is None:
        return "–"
    if value < 1000:
        return f"{value:.0f} ms"
    return f"{value / 1000:.2f} s" if value < 10_000 else f"{value / 1000:.1f} s"


def _moment(value: datetime | str | float) -> datetime:
    if isinstance(value, datetime):
        return value
    if isinstance(value, (int, float)):
        return datetime.fromtimestamp(value, UTC)
    return datetime.fromisoformat(value)


@register.simple_tag
def ago(value: datetime | str | float | None) -> SafeString | str:
    """Relative time, filled in and kept current by the browser; absolute without it."""
    if value is None or value == "":
        return "–"
    moment = _moment(value).astimezone(UTC)
    text = moment.strftime("%Y-%m-%d %H:%M:%S UTC")
    return format_html(
        '<time datetime="{}" data-ago title="{}" tabindex="0">{}</time>',
        moment.isoformat(timespec="milliseconds"),
        text,
        text,
    )


@register.simple_tag
def countdown(until: str, remaining_s: float) -> SafeString:
    """Time left until an absolute deadline; the browser runs it against the server's clock."""
    return format_html(
        '<time datetime="{0}" data-until="{0}" title="until {0}" tabindex="0">{1}</time>',
        until,
        clock(remaining_s),
    )


@register.filter
def clock(seconds: float) -> str:
    """Seconds as 0:41 or 1:02:03, rounded up."""
    whole = max(0, math.ceil(seconds))
    hours, rest = divmod(whole, 3600)
    minutes, secs = divmod(rest, 60)
    return f"{hours}:{minutes:02d}:{secs:02d}" if hours else f"{minutes}:{secs:02d}"


@register.filter
def article(noun: str) -> str:
    return f"{'an' if noun[:1] in 'aeio' else 'a'} {noun}"


@register.filter
def member(mapping: Mapping[str, Any], key: str) -> Any:
    return mapping.get(key)


def is_current(path: str, href: str) -> bool:
    """A page's own address, its objects' below it, and those with a verb in front."""
    if href == "/":
        return path == "/"
    noun = href.strip("/")
    return noun in path.strip("/").split("/")[:2] and (
        path.startswith(href) or path.partition(href)[0].count("/") == 1
    )


@register.simple_tag(takes_context=True)
def navigation(context: template.Context) -> list[dict[str, Any]]:
    """The sections a person may see, the current page marked by its path."""
    request = context["request"]
    role = getattr(request.user, "role", "")
    sections = []
    for title, entries in SECTIONS:
        links = [
            {
                "title": entry.title,
                "href": (href := reverse(entry.url_name)),
                "current": is_current(request.path, href),
            }
            for entry in entries
            if entry.right == "viewer" or role == "admin"
        ]
        if links:
            sections.append({"title": title, "links": links})
    return sections


@register.simple_tag
def shortcuts() -> tuple[tuple[str, tuple[Shortcut, ...]], ...]:
    return SHORTCUTS
