"""Bodies made from the catalog's tables: partial ones for PATCH, the envelope of lists."""

from __future__ import annotations

from copy import copy
from functools import cache
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Generic, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, create_model

from routeradmin.catalog.table import Table

T = TypeVar("T", bound=BaseModel)


class Page(BaseModel, Generic[T]):
    """A list's answer; ``total`` counts all that match, ``next_cursor`` continues."""

    items: list[T]
    next_cursor: str | None
    total: int


@cache
def partial(table: type[BaseModel]) -> type[BaseModel]:
    """The table with every field optional, tables inside it too; what is absent stays unset."""
    fields: dict[str, Any] = {}
    for name, info in table.model_fields.items():
        field = copy(info)
        field.default, field.default_factory = None, None
        field.annotation = _partial_annotation(info.annotation)
        fields[name] = (field.annotation, field)
    return create_model(f"{table.__name__}Patch", __base__=Table, __doc__=PATCH_DOC, **fields)


PATCH_DOC = "Only the named fields change; null takes an optional one away."


def _partial_annotation(annotation: Any) -> Any:
    if isinstance(annotation, type) and issubclass(annotation, Table):
        return partial(annotation)
    if get_origin(annotation) in (Union, UnionType):
        members = [member for member in get_args(annotation) if member is not NoneType]
        if len(members) == 1 and len(get_args(annotation)) == 2:
            return _partial_annotation(members[0]) | None
    return annotation


if TYPE_CHECKING:

    class Patch(BaseModel, Generic[T]):
        """A body of which only the fields that were sent count."""

else:

    class Patch:
        def __class_getitem__(cls, table: type[BaseModel]) -> type[BaseModel]:
            return partial(table)


def named(patch: BaseModel) -> dict[str, Any]:
    """The fields that were sent, as a merge patch."""
    return patch.model_dump(exclude_unset=True, by_alias=True)
