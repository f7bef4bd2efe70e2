"""The text of a request's head, put together once for calls that are alike."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

Pairs = Iterable[tuple[str, str]]

# Decompression costs the event loop more than it saves, and can hold back a stream's first frame.
# An upstream that compresses all the same is understood.
_DEFAULTS = {"user-agent": "routeradmin", "accept": "*/*", "accept-encoding": "identity"}
_MADE_HERE = frozenset({"content-length", "transfer-encoding", "host"})

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_BREAKING = re.compile(r"[\r\n\0]")


class CommonHeaders:
    """Headers that many calls share: they are put into lines when they are first sent."""

    __slots__ = ("_lines", "headers")

    def __init__(self, headers: Mapping[str, str]) -> None:
        self.headers = headers
        self._lines: bytes | None = None

    def __repr__(self) -> str:
        return "CommonHeaders(***)"  # credentials are among them

    @property
    def lines(self) -> bytes:
        """Raises ValueError, as ``lines_of``."""
        if self._lines is None:
            self._lines = lines_of(self.headers)
        return self._lines


def lines_of(headers: Mapping[str, str] | Pairs) -> bytes:
    """With what every request carries, where it is not given. Raises ValueError for a name or
    value that would break the head."""
    pairs = list(headers.items() if isinstance(headers, Mapping) else headers)
    given = {name.lower() for name, _ in pairs}
    kept = [(name, value) for name, value in pairs if name.lower() not in _MADE_HERE]
    kept += [(name, value) for name, value in _DEFAULTS.items() if name not in given]
    return added(kept)


def added(pairs: Pairs) -> bytes:
    """Lines of these headers alone. Raises ValueError."""
    return b"".join([_line(name, value) for name, value in pairs])


def _line(name: str, value: str) -> bytes:
    if not _NAME.fullmatch(name) or _BREAKING.search(value):
        raise ValueError("a header's name or value cannot be sent")
    return f"{name}: {value}\r\n".encode()
