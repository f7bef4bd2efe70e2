"""Header lines as values: a header may come in several lines, and none of them gets lost."""

from __future__ import annotations

from collections.abc import Container, Iterable


def combined(
    pairs: Iterable[tuple[bytes, bytes]], wanted: Container[bytes] | None = None
) -> dict[str, str]:
    """The values by lower-case name, of these names or all; lines of one name are one list
    (RFC 9110, 5.3), which a header of a single value then does not parse as."""
    found: dict[str, str] = {}
    for name, value in pairs:
        if wanted is None or name in wanted:
            add(found, name.decode("latin-1"), value.decode("latin-1").strip())
    return found


def add(found: dict[str, str], name: str, value: str) -> None:
    """One line more."""
    known = found.get(name)
    found[name] = f"{known}, {value}" if known and value else known or value
