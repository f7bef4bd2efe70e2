"""When the upstream says to come back: Retry-After and the providers' reset headers.

Nothing here raises, whatever a header holds. A hint is a number of seconds above 0, or None: the
local backoff applies.
"""

from __future__ import annotations

import math
import re
from calendar import timegm
from collections.abc import Mapping
from datetime import datetime

_NUMBER = re.compile(r"\+?[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?", re.ASCII)
_MONTHS = {
    name: number
    for number, name in enumerate(
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), 1
    )
}
_CLOCK = r"(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2}):(?P<second>[0-9]{2})"
_MONTH = r"(?P<month>[a-z]{3})"
_DATE_FORMS = (  # RFC 9110, section 5.6.7: IMF-fixdate, RFC 850, asctime
    re.compile(
        rf"[a-z]{{3}}, (?P<day>[0-9]{{2}}) {_MONTH} (?P<year>[0-9]{{4}}) {_CLOCK} (?:gmt|utc)"
    ),
    re.compile(
        rf"[a-z]{{6,9}}, (?P<day>[0-9]{{2}})-{_MONTH}-(?P<year>[0-9]{{2}}) {_CLOCK} (?:gmt|utc)"
    ),
    re.compile(rf"[a-z]{{3}} {_MONTH} (?P<day>[ 0-9][0-9]) {_CLOCK} (?P<year>[0-9]{{4}})"),
)
_UNITS_S = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_DURATION_PART = r"([0-9]+(?:\.[0-9]*)?)(ms|us|µs|ns|h|m|s)"
_DURATION = re.compile(rf"(?:{_DURATION_PART})+")
_EPOCH_S = 1e9  # a plain number from here on is a moment, not a length
_EPOCH_MS = 1e12


def hint_s(headers: Mapping[str, str], now: float, *, exhausted_only: bool = False) -> float | None:
    """The wait these answer headers ask for.

    ``retry-after-ms`` wins, then ``Retry-After``, then the reset headers. A readable Retry-After
    of zero or in the past asks for the local backoff, and no other header is read.
    ``exhausted_only`` reads a reset header only where its budget is told to be empty: providers
    send resets with every answer, also with a failure that has nothing to do with them.
    """
    lowered = {str(name).lower(): str(value) for name, value in headers.items()}
    for asked_s in (
        _milliseconds(lowered.get("retry-after-ms")),
        retry_after_s(lowered.get("retry-after"), now),
    ):
        if asked_s is not None:
            return asked_s if asked_s > 0 else None
    return _reset_s(lowered, now, exhausted_only=exhausted_only)


def retry_after_s(value: str | float | None, now: float) -> float | None:
    """Seconds from ``now``; 0.0 for zero or a past date, None for anything unreadable."""
    text = "" if value is None else str(value).strip()
    if (seconds := _number(text)) is not None:
        return seconds
    moment = _http_date(text, now)
    return None if moment is None else max(0.0, moment - now)


def duration_s(text: str) -> float | None:
    """A length such as ``6m0s``, ``1s``, ``250ms``, ``1.5``; None for anything else."""
    text = text.strip()
    if (seconds := _number(text)) is not None:
        return seconds
    if not _DURATION.fullmatch(text):
        return None
    total_s = sum(float(n) * _UNITS_S[unit] for n, unit in re.findall(_DURATION_PART, text))
    return total_s if math.isfinite(total_s) else None


def _number(text: str) -> float | None:
    if not _NUMBER.fullmatch(text):
        return None
    number = float(text)
    return number if math.isfinite(number) else None


def _milliseconds(value: str | None) -> float | None:
    number = _number(value.strip()) if value else None
    return None if number is None else number / 1000


def _http_date(text: str, now: float) -> float | None:
    for form in _DATE_FORMS:
        if match := form.fullmatch(text.lower()):
            return _moment(match, now)
    return None


def _moment(match: re.Match[str], now: float) -> float | None:
    part = match.groupdict()
    year = int(part["year"])
    if len(part["year"]) == 2:
        year = _full_year(year, now)
    try:
        moment = datetime(
            year,
            _MONTHS[part["month"]],
            int(part["day"]),
            int(part["hour"]),
            int(part["minute"]),
            min(int(part["second"]), 59),  # a leap second has no datetime of its own
        )
    except (KeyError, ValueError):
        return None
    return float(timegm(moment.timetuple()))


def _full_year(two_digits: int, now: float) -> int:
    """RFC 9110: a two-digit year more than 50 years ahead is the past one."""
    this_year = 1970 + int(now // 31_556_952)
    year = this_year - this_year % 100 + two_digits
    return year - 100 if year > this_year + 50 else year


def _reset_s(headers: Mapping[str, str], now: float, *, exhausted_only: bool) -> float | None:
    """Of the budgets told to be empty the latest reset, for all of them must be back; where no
    budget is told to be empty the earliest reset."""
    known: list[float] = []
    empty: list[float] = []
    for name, value in headers.items():
        reset_s, remaining = _budget(name, value, headers, now)
        if reset_s is None or reset_s <= 0:
            continue
        known.append(reset_s)
        if remaining is not None and _number(remaining.strip()) == 0:
            empty.append(reset_s)
    if empty:
        return max(empty)
    return min(known) if known and not exhausted_only else None


def _budget(
    name: str, value: str, headers: Mapping[str, str], now: float
) -> tuple[float | None, str | None]:
    """Seconds until this header's budget is whole again, and how much of it is told to be left."""
    if name.startswith("x-ratelimit-reset-"):
        reset_s = _since_epoch(duration_s(value), now)
        return reset_s, headers.get(name.replace("-reset-", "-remaining-", 1))
    if name.startswith("anthropic-ratelimit-") and name.endswith("-reset"):
        return _rfc3339_s(value, now), headers.get(name.removesuffix("-reset") + "-remaining")
    return None, None


def _since_epoch(number: float | None, now: float) -> float | None:
    if number is None or number < _EPOCH_S:
        return number
    return (number / 1000 if number >= _EPOCH_MS else number) - now


def _rfc3339_s(value: str, now: float) -> float | None:
    try:
        moment = datetime.fromisoformat(value.strip())
        return moment.timestamp() - now if moment.tzinfo else None
    except (ValueError, OverflowError, OSError):
        return None
