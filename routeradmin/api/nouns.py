"""The catalog's nouns: which list of the document holds them, and how one is shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, get_args, get_origin

from pydantic import BaseModel

from routeradmin.catalog.document import Document
from routeradmin.catalog.table import Table
from routeradmin.services.changes.nouns import NOUNS, find, full_form, key_field

Item = dict[str, Any]
Items = Callable[[Document, Sequence[Any]], Iterable[Item]]


def plain_items(document: Document, entries: Sequence[Table]) -> Iterable[Item]:
    """Each with every field, defaults included."""
    return map(full_form, entries)


@dataclass(frozen=True, slots=True)
class Noun:
    """One noun. ``written`` is what its bodies hold, ``shown`` what its answers hold.

    ``items`` shows entries of the document.
    """

    plural: str
    singular: str
    written: type[Table]
    output: type[BaseModel] | None = None
    created: type[Table] | None = None
    items: Items = plain_items

    @property
    def key(self) -> str:
        """The field that identifies one."""
        return key_field(self.plural)

    @property
    def shown(self) -> type[BaseModel]:
        return self.output or self.written

    @property
    def kind(self) -> str:
        """Its list in the document."""
        return NOUNS[self.plural]

    @property
    def fields(self) -> tuple[str, ...]:
        """What lists filter and sort by."""
        return flat_fields(self.shown)

    def entries(self, document: Document) -> Sequence[Any]:
        found: Sequence[Any] = getattr(document, self.kind)
        return found

    def shown_as(self, document: Document, id: str) -> Item:
        """One of them. Raises NotFound."""
        return next(iter(self.items(document, [find(document, self.plural, id)])))


def flat_fields(model: type[BaseModel]) -> tuple[str, ...]:
    """The fields that hold one value or a list of texts, by their written names."""
    return tuple(
        info.alias or name for name, info in model.model_fields.items() if _is_flat(info.annotation)
    )


def _is_flat(annotation: Any) -> bool:
    """Whether no table hides in it: neither itself, nor in a union, nor in a sequence."""
    if isinstance(annotation, type) and get_origin(annotation) is None:
        return not issubclass(annotation, (BaseModel, dict))
    if get_origin(annotation) is dict:
        return False
    return all(
        _is_flat(part) for part in get_args(annotation) if isinstance(part, type) or get_args(part)
    )
