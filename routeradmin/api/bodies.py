"""Bodies made from the catalog's tables: partial ones for PATCH, the envelope of lists."""

from __future__ import annotations

from copy import copy
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Generic, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, Field, create_model

from routeradmin.catalog.table import Table

Reason = Annotated[str, Field(max_length=1000, pattern=r"^[^\x00-\x1f\x7f]*$")]
T = TypeVar("T")


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


def named(body: BaseModel) -> dict[str, Any]:
    """The fields that were sent, as plain JSON values: a merge patch."""
    return body.model_dump(mode="json", exclude_unset=True, by_alias=True)


def whole(body: BaseModel) -> dict[str, Any]:
    """Every field, as a merge patch that takes those that were not sent back to their defaults.

    What people want of the object stays where the body is silent, as it does in an import.
    """
    values = named(body)
    for name, info in type(body).model_fields.items():
        written = info.alias or name
        if name in body.model_fields_set:
            value = getattr(body, name)
            if isinstance(value, Table):  # all of it: what is there already must not show through
                values[written] = value.model_dump(mode="json", by_alias=True)
        elif name not in KEPT_WHERE_SILENT:
            values[written] = [] if name in OWNED_LISTS else None
    return values


KEPT_WHERE_SILENT = ("admin_state", "drain_until")
OWNED_LISTS = ("targets",)  # objects of their own, for which null means nothing
