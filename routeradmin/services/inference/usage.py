"""Token figures in the words of each protocol. What is not reported stays unknown, never 0."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from routeradmin.services.inference.counting import MOST


class Usage(NamedTuple):
    input: int | None = None
    output: int | None = None

    def updated(self, later: Usage) -> Usage:
        """The figures of both; the later ones win."""
        return Usage(
            self.input if later.input is None else later.input,
            self.output if later.output is None else later.output,
        )


UNKNOWN = Usage()


def of(figures: Any) -> Usage:
    """From the ``usage`` object of any of the protocols; tokens read from a cache are input too."""
    if not isinstance(figures, Mapping):
        return UNKNOWN
    given = _count(figures, "prompt_tokens")
    if given is None:
        given = _count(figures, "input_tokens")
        for cached in ("cache_read_input_tokens", "cache_creation_input_tokens"):
            more = _count(figures, cached)
            if more:
                given = (given or 0) + more
    written = _count(figures, "completion_tokens")
    return Usage(given, _count(figures, "output_tokens") if written is None else written)


def of_answer(document: Any) -> Usage:
    """From a whole answer. Counting tokens reports nothing used."""
    return of(document.get("usage")) if isinstance(document, Mapping) else UNKNOWN


def _count(figures: Mapping[str, Any], name: str) -> int | None:
    value = figures.get(name)
    # JSON's true is an int to Python; what no request can have used is no report
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST
    return value if is_count else None
