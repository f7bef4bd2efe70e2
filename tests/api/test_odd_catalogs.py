"""Whatever stands in a file that is imported, the answer is no fault of the server's."""

from __future__ import annotations

import json
from itertools import cycle
from typing import Any

import pytest
import tomli_w
import yaml

from routeradmin.catalog.files.writing import write
from tests import factories as make
from tests.api.client import Api
from tests.catalog.documents import FIXTURES
from tests.odd_values import ODD, OF_TOML, instead, places

SURE = [odd for odd in ODD if odd != "\ud83d"]  # half a character cannot be sent in UTF-8


def tried(api: Api, body: str, kind: str) -> None:
    answer = api.call(
        "PUT", "/catalog?dry_run=true", body.encode(), type=f"application/{kind}", if_match="*"
    )
    assert answer.status_code in (200, 422), (answer.status_code, body[:2000])


@pytest.mark.parametrize("kind", ["json", "toml"])
def test_a_catalog_of_ours(api: Api, kind: str) -> None:
    values: dict[str, Any] = json.loads(write(make.document(make.full_catalog()), "json"))
    odd = cycle(ODD if kind == "json" else [*OF_TOML, *(one for one in SURE if no_null(one))])
    dumps = json.dumps if kind == "json" else tomli_w.dumps
    for at in list(places(values))[::4]:
        tried(api, dumps(instead(values, at, next(odd))), kind)


def no_null(odd: Any) -> bool:
    return "null" not in json.dumps(odd)


@pytest.mark.parametrize("file", sorted((FIXTURES / "foreign").iterdir()), ids=lambda one: one.name)
def test_a_file_of_another_program(api: Api, file: Any) -> None:
    values, odd = yaml.safe_load(file.read_text()), cycle(SURE)
    for at in list(places(values))[::4]:
        tried(api, yaml.safe_dump(instead(values, at, next(odd))), "yaml")
