"""Lists cost a fixed number of queries, however long they are."""

from __future__ import annotations

import pytest
from pytest_django import DjangoAssertNumQueries

from routeradmin.services import turn_rows
from tests import factories as make
from tests.api.client import Api
from tests.api.conftest import stock
from tests.api.test_records import attempt, events, turn

# The catalog in force and the keys are in memory; credentials look at fingerprints.
BUDGETS = {
    "/providers": 0,
    "/credentials": 1,
    "/endpoints": 0,
    "/models": 0,
    "/deployments": 0,
    "/routes": 0,
    "/aliases": 0,
    "/policies": 0,
    "/state": 0,
    "/cooldowns": 0,
    "/catalog": 0,
    "/keys": 1,
    "/users": 1,
    "/events": 2,
    "/audit": 2,
    "/revisions": 2,
    "/turns": 3,
    "/deployments/d0": 1,
    "/routes/r0": 1,
    "/credentials/acme-key": 2,
}


@pytest.mark.parametrize(("path", "queries"), BUDGETS.items())
def test_a_list_keeps_to_its_budget(
    api: Api, path: str, queries: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    stock(make.wide_catalog(deployments=120, routes=60))
    events(50)
    turn_rows.write([turn(f"t{n}", attempt("d1"), attempt("d2")) for n in range(30)])
    with django_assert_num_queries(queries):
        answer = api.get(path)
    assert answer.status_code == 200
