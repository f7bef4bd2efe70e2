"""What a reader of another program's file hands over: a document, and all that it leaves open."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from routeradmin.catalog.document import Document
from routeradmin.catalog.problems import Invalid, Problem

Places = Mapping[tuple[str, str], str]  # (kind, id) of an entry -> pointer into the source file


@dataclass(frozen=True, slots=True)
class Remark:
    """``place`` is the JSON pointer into the source file. No value of the file is quoted."""

    place: str
    detail: str

    def as_json(self) -> dict[str, str]:
        return {"pointer": self.place, "detail": self.detail}


@dataclass(frozen=True, slots=True)
class Draft:
    """A catalog to be looked at before it is imported.

    ``unmapped`` lists what has no counterpart here, ``notes`` what was inferred, changed or looks
    wrong. ``secrets`` holds the file's literal keys by the reference that stands in the document;
    it never shows in a text form. ``places``: where in the file an entry was made from.
    """

    source: str
    document: Document
    unmapped: tuple[Remark, ...] = ()
    notes: tuple[Remark, ...] = ()
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    places: Places = field(default_factory=dict)


class Unfit(Invalid):
    """Another program's file that was refused: its problems at their places in it, and all that it
    leaves open beside them."""

    def __init__(
        self,
        problems: Iterable[Problem],
        source: str,
        unmapped: Iterable[Remark],
        notes: Iterable[Remark],
        code: str = "invalid-request",
    ) -> None:
        super().__init__(problems, code)
        self.source = source
        self.unmapped = tuple(unmapped)
        self.notes = tuple(notes)


def placed(
    found: Iterable[Problem], ids: Mapping[str, Sequence[str]], places: Places
) -> list[Problem]:
    """Problems of the catalog made of a file, told at their places in the file and by kind and id.

    ``ids``: of each kind, in the order that the problems' pointers count in.
    """
    return [_placed(problem, ids, places) for problem in found]


def _placed(problem: Problem, ids: Mapping[str, Sequence[str]], places: Places) -> Problem:
    kind, *rest = problem.pointer.split("/")[1:] or [""]
    if kind not in ids or not rest or not rest[0].isdigit():
        return replace(problem, pointer="") if kind in ids else problem
    id = ids[kind][int(rest[0])]
    fields = f" {'.'.join(rest[1:])}" if rest[1:] else ""
    detail = f"{kind} {id}{fields}: {problem.detail}"
    return replace(problem, pointer=places.get((kind, id), ""), detail=detail)
