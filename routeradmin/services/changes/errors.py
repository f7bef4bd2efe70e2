"""Why a write was refused. A refused write has changed nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


class Refused(Exception):
    """Base of the refusals that are no fault of the values themselves (those are ``Invalid``)."""


class NotFound(Refused):
    def __init__(self, noun: str, id: str) -> None:
        self.noun, self.id = noun, id
        super().__init__(f"there is no {id!r} among the {noun}")


class AlreadyExists(Refused):
    def __init__(self, noun: str, id: str) -> None:
        self.noun, self.id = noun, id
        super().__init__(f"{id!r} exists among the {noun} already: choose another or change it")


class Stale(Refused):
    """The edit was based on an older version; ``current`` is the object as it is now."""

    def __init__(self, noun: str, id: str, version: int, current: dict[str, Any]) -> None:
        self.noun, self.id, self.version, self.current = noun, id, version, current
        super().__init__(
            f"{id!r} was changed meanwhile (it is at version {version}): "
            "read it again and repeat the change on what it is now"
        )


@dataclass(frozen=True, slots=True)
class Dependent:
    """Something that names the object: ``field`` is where."""

    noun: str
    id: str
    field: str

    def as_json(self) -> dict[str, str]:
        return {"kind": self.noun, "id": self.id, "field": self.field}


class InUse(Refused):
    """Others name the object; ``dependents`` lists them."""

    def __init__(self, noun: str, id: str, dependents: Sequence[Dependent]) -> None:
        self.noun, self.id, self.dependents = noun, id, tuple(dependents)
        listed = ", ".join(f"{one.noun} {one.id}" for one in self.dependents[:5])
        more = len(self.dependents) - 5
        super().__init__(
            f"{id!r} is in use by {listed}{f' and {more} more' if more > 0 else ''}: "
            "change those first, or delete with cascade"
        )
