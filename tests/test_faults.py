"""What people see when a page cannot be made."""

from __future__ import annotations

import pytest
from django.db import OperationalError
from django.test import RequestFactory

from routeradmin import faults


@pytest.mark.parametrize(
    ("fault", "status", "text"),
    [
        (OperationalError("gone"), 503, "Nothing was read or saved"),
        (RuntimeError("bug"), 500, "Something broke"),
    ],
)
def test_a_database_that_is_gone_is_told_apart_from_a_bug(
    fault: Exception, status: int, text: str
) -> None:
    try:
        raise fault
    except type(fault):
        answer = faults.broken(RequestFactory().get("/"))
    assert (answer.status_code, text in answer.content.decode()) == (status, True)
