"""Reading values of files whose types nobody promised."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

T_co = TypeVar("T_co", covariant=True)

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_UNITS_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def mapping(value: Any) -> dict[str, Any]:
    """The value where it is a mapping, else an empty one."""
    return value if isinstance(value, dict) else {}


def text(value: Any) -> str | None:
    """The value where it is a text, or what YAML takes for something else (``4``, ``on``)."""
    return str(value) if isinstance(value, str | int | float) else None


def whole(value: Any) -> int | None:
    """The value where it is a whole number of 0 or more."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def amount(value: Any) -> float | None:
    """The value where it is a number of 0 or more that has an end."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def duration_s(value: Any) -> float | None:
    """Seconds of a number, or of a text such as ``1h30m``."""
    number = amount(value)
    if number is not None or not isinstance(value, str):
        return number
    parts = _DURATION.findall(value.strip())
    if not parts or "".join(size + unit for size, unit in parts) != value.strip():
        return None
    return sum(float(size) * _UNITS_S[unit] for size, unit in parts)


@dataclass(frozen=True, slots=True)
class Kind(Generic[T_co]):
    """A kind of value: ``fit`` gives it, or None for any other; ``words`` say what it must be."""

    fit: Callable[[Any], T_co | None]
    words: str

    def misfits(self, table: dict[str, Any], name: str) -> bool:
        """Whether the table states something of this name that is of another kind: it is not to be
        taken for absent where the default would widen or redirect what the file meant."""
        value = table.get(name)
        return value is not None and self.fit(value) is None


TEXT = Kind(text, "a text")
WHOLE = Kind(whole, "a whole number of 0 or more")
AMOUNT = Kind(amount, "a number of 0 or more")
DURATION = Kind(duration_s, "a number of seconds, or a length of time such as 1h30m")
FLAG: Kind[bool] = Kind(lambda one: one if isinstance(one, bool) else None, "true or false")
LIST: Kind[list[Any]] = Kind(lambda one: one if isinstance(one, list) else None, "a list")
TABLE: Kind[dict[str, Any]] = Kind(lambda one: one if isinstance(one, dict) else None, "a mapping")
