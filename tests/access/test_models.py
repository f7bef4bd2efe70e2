"""Roles and keys, as the database keeps them."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import IntegrityError, transaction

from routeradmin.access.models import ApiKey, Role, User
from tests import factories as make

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("role", "may_operate", "may_configure"),
    [(Role.VIEWER, False, False), (Role.OPERATOR, True, False), (Role.ADMIN, True, True)],
)
def test_each_role_may_what_the_ones_before_it_may(
    role: Role, may_operate: bool, may_configure: bool
) -> None:
    person = make.person(role=role)
    assert (person.may_operate, person.may_configure) == (may_operate, may_configure)


def test_an_unknown_role_is_refused() -> None:
    make.person()
    with pytest.raises(IntegrityError), transaction.atomic():
        User.objects.update(role="root")


@pytest.mark.parametrize(
    "fields",
    [{"name": ""}, {"hash": ""}, {"rpm_limit": -1}, {"tokens_per_day": -1}],
)
def test_a_key_without_a_name_or_with_a_negative_limit_is_refused(fields: dict[str, Any]) -> None:
    values = {"uid": "k", "name": "ci", "hash": "h", "prefix": "rk_", "scopes": ["read"]}
    with pytest.raises(IntegrityError), transaction.atomic():
        ApiKey.objects.create(**(values | fields))
