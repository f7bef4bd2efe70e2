"""The database's own refusals, named after their table and what they demand."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import CheckConstraint, F, Q

INT31 = 2**31 - 1


def filled(table: str, *fields: str) -> list[CheckConstraint]:
    """Each text field holds at least one character."""
    return [
        CheckConstraint(condition=~Q(**{field: ""}), name=f"{table}_{field}_filled")
        for field in fields
    ]


def one_of(table: str, field: str, accepted: Iterable[str]) -> CheckConstraint:
    return CheckConstraint(
        condition=Q(**{f"{field}__in": [str(value) for value in accepted]}),
        name=f"{table}_{field}_known",
    )


def between(
    table: str, field: str, low: float, high: float | None = None, *, optional: bool = False
) -> CheckConstraint:
    """``low <= field <= high``; without ``high`` only the lower bound; ``optional`` allows NULL."""
    condition = Q(**{f"{field}__gte": low})
    if high is not None:
        condition &= Q(**{f"{field}__lte": high})
    if optional:
        condition |= Q(**{f"{field}__isnull": True})
    return CheckConstraint(condition=condition, name=f"{table}_{field}_range")


def limits(table: str, *fields: str) -> list[CheckConstraint]:
    """Limits: NULL is unlimited, 0 admits nothing, nothing is negative."""
    return [between(table, field, 0, optional=True) for field in fields]


def at_most(table: str, field: str, other: str) -> CheckConstraint:
    """``field <= other`` where both are given."""
    return CheckConstraint(
        condition=Q(**{f"{field}__isnull": True})
        | Q(**{f"{other}__isnull": True})
        | Q(**{f"{field}__lte": F(other)}),
        name=f"{table}_{field}_at_most_{other}",
    )
