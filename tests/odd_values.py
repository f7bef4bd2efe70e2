"""One place of a good file after another holds something that nobody meant to stand there."""

from __future__ import annotations

import copy
import datetime
import math
from collections.abc import Iterable, Iterator
from itertools import islice, product
from typing import Any

LATEST = datetime.datetime.max.replace(
    tzinfo=datetime.timezone(-datetime.timedelta(hours=14))  # past the calendar's end in UTC
)
ODD: tuple[Any, ...] = (
    *(None, [], {}, "", ["x"], {"a": 1}, [[["x"]]], ["x", None, 3, {"a": 1}], {"": None}),
    *(math.inf, -math.inf, math.nan, 1e308, 1.5, -1, 0, True, False, 2**63, 10**30, 10**400),
    *("2026-01-01", "x" * 10_000, "a\x00b", "\ud83d", "*", "a/b~c", "${X}"),
)
OF_TOML: tuple[Any, ...] = (
    *(datetime.date(2026, 1, 1), datetime.time(1, 2), datetime.datetime(2026, 1, 1), LATEST),
)
# Nothing that any field means: where it changes nothing, it has to be told.
MEANT_BY_NONE: tuple[Any, ...] = (math.nan, math.inf, {"a": 1}, [[["x"]]])

Path = tuple[str | int, ...]


def places(values: Any, at: Path = ()) -> Iterator[Path]:
    """Of everything in it, the branches too."""
    if at:
        yield at
    if isinstance(values, list):
        values = dict(enumerate(values))
    for name, value in values.items() if isinstance(values, dict) else ():
        yield from places(value, (*at, name))


def pairs(values: Any, odds: Iterable[Any], every: int) -> Iterator[tuple[Path, Any]]:
    """Each so many-th pair of a place and an odd value, so that every place meets several and
    every value many: all of them together passed, and take a minute."""
    return islice(product(places(values), odds), 0, None, every)


def instead(values: Any, at: Path, odd: Any) -> Any:
    """A copy with the odd value in this place."""
    values = copy.deepcopy(values)
    _parent(values, at)[at[-1]] = odd
    return values


def without(values: Any, at: Path) -> Any:
    values = copy.deepcopy(values)
    del _parent(values, at)[at[-1]]
    return values


def _parent(values: Any, at: Path) -> Any:
    for name in at[:-1]:
        values = values[name]
    return values
