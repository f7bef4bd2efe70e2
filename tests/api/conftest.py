"""A stocked catalog, and clients with a key of every scope."""

from __future__ import annotations

from typing import Any

import pytest

from routeradmin.services import changes
from routeradmin.services.runtime import Runtime
from tests import factories as make
from tests.api.client import BY, EVERY_SCOPE, Api, key_with


@pytest.fixture
def api(runtime: Runtime) -> Api:
    """May everything; the catalog is empty."""
    return Api(key_with(*EVERY_SCOPE))


def stock(values: dict[str, Any] | None = None) -> None:
    changes.replace_document(make.document(values or make.catalog()), BY, mode="replace")


@pytest.fixture
def stocked(api: Api) -> Api:
    """The same with one object of each kind that routing needs."""
    stock()
    return api


@pytest.fixture
def full(api: Api) -> Api:
    """The same with objects of every kind and every field set."""
    stock(make.full_catalog())
    return api
