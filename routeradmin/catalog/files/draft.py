"""What a reader of another program's file hands over: a document, and all that it leaves open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from routeradmin.catalog.document import Document


@dataclass(frozen=True, slots=True)
class Remark:
    """``place`` is the JSON pointer into the source file. No value of the file is quoted."""

    place: str
    detail: str


@dataclass(frozen=True, slots=True)
class Draft:
    """A catalog to be looked at before it is imported.

    ``unmapped`` lists what has no counterpart here, ``notes`` what was inferred, changed or looks
    wrong. ``secrets`` holds the file's literal keys by the reference that stands in the document;
    it never shows in a text form.
    """

    source: str
    document: Document
    unmapped: tuple[Remark, ...] = ()
    notes: tuple[Remark, ...] = ()
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
