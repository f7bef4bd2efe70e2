"""What is wrong with a document, and where: every problem carries a JSON pointer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Problem:
    """One finding. ``pointer`` is RFC 6901 (``/serving_models/3/weight``); ``""`` is the whole.

    ``detail`` says what to do next and never holds a value other than an id or a name. ``other``:
    the second place of a clash, which is told where the first is not at hand.
    """

    pointer: str
    detail: str
    severity: Severity = Severity.ERROR
    other: str = ""

    def __str__(self) -> str:
        return f"{self.pointer or '/'}: {self.detail}"


class Invalid(ValueError):
    """A document was refused; ``problems`` lists everything found, errors only.

    ``code`` is ``too-large`` where a size or count was exceeded, else ``invalid-request``.
    """

    def __init__(self, problems: Iterable[Problem], code: str = "invalid-request") -> None:
        self.problems = tuple(problems)
        self.code = code
        super().__init__("; ".join(str(problem) for problem in self.problems))


def pointer(*parts: str | int) -> str:
    """The JSON pointer to these keys and indexes, escaped."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)
