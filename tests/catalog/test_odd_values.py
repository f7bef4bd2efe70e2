"""Catalogs of ours in which one value is nothing that its field could hold."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import tomli_w

from routeradmin.catalog import validate
from routeradmin.catalog.files import read, write
from routeradmin.catalog.files.reading import from_values
from routeradmin.catalog.problems import Invalid
from tests import factories as make
from tests.odd_values import ODD, OF_TOML, instead, pairs

EVERY_FIELD: dict[str, Any] = json.loads(write(make.document(make.full_catalog()), "json"))


def test_no_value_in_any_place_does_more_than_being_refused() -> None:
    for at, odd in pairs(EVERY_FIELD, (*ODD, *OF_TOML), 11):
        with contextlib.suppress(Invalid):
            list(validate.problems(from_values(instead(EVERY_FIELD, at, odd))))


def test_dates_of_toml_are_refused_or_read_wherever_they_stand() -> None:
    for at, odd in pairs(EVERY_FIELD, OF_TOML, 5):
        with contextlib.suppress(Invalid):
            read(tomli_w.dumps(instead(EVERY_FIELD, at, odd)).encode())
