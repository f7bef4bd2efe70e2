"""Reading values of files whose types nobody promised."""

from __future__ import annotations

import re
from typing import Any

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_UNITS_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def mapping(value: Any) -> dict[str, Any]:
    """The value where it is a mapping, else an empty one."""
    return value if isinstance(value, dict) else {}


def sequence(value: Any) -> list[Any]:
    """The value where it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def whole(value: Any) -> int | None:
    """The value where it is a whole number of 0 or more."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def amount(value: Any) -> float | None:
    """The value where it is a number of 0 or more."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and value >= 0 else None


def duration_s(value: Any) -> float | None:
    """Seconds of a number, or of a text such as ``1h30m``."""
    number = amount(value)
    if number is not None or not isinstance(value, str):
        return number
    parts = _DURATION.findall(value.strip())
    if not parts or "".join(size + unit for size, unit in parts) != value.strip():
        return None
    return sum(float(size) * _UNITS_S[unit] for size, unit in parts)
