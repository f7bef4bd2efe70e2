"""Which program a file belongs to is told by what it holds."""

from __future__ import annotations

import json

import pytest

from routeradmin.catalog.files import open_file, write
from routeradmin.catalog.problems import Invalid
from tests.catalog.documents import example, example_bytes
from tests.catalog.foreign.drafts import fixture_bytes

LITELLM_JSON = json.dumps(
    {"model_list": [{"model_name": "m", "litellm_params": {"model": "openai/x"}}]}
).encode()


@pytest.mark.parametrize(
    ("data", "source"),
    [
        (example_bytes(), "catalog"),
        (write(example(), "json"), "catalog"),
        (b"\xef\xbb\xbf\n# a comment: with a colon\n" + example_bytes(), "catalog"),
        (fixture_bytes("litellm.yaml"), "litellm"),
        (fixture_bytes("litellm-rs.yaml"), "litellm-rs"),
        (fixture_bytes("litellm-rs-configmap.yaml"), "litellm-rs"),
        (fixture_bytes("switchailocal.yaml"), "switchailocal"),
        (fixture_bytes("switchailocal-v8.yaml"), "switchailocal"),
        (b"---\n" + fixture_bytes("litellm.yaml"), "litellm"),
        (LITELLM_JSON, "litellm"),
    ],
    ids=range(10),
)
def test_a_file_is_read_by_the_reader_it_needs(data: bytes, source: str) -> None:
    assert open_file(data).source == source


def test_a_named_format_is_not_second_guessed() -> None:
    with pytest.raises(Invalid, match="TOML"):
        open_file(fixture_bytes("litellm.yaml"), "toml")
    with pytest.raises(Invalid):
        open_file(example_bytes(), "litellm")
    assert open_file(b"model_list: []", "litellm").source == "litellm"


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "/format"),
        (b"a = [", "is not valid TOML: see end of document"),
        (b'{"providers": []}', "/format"),
        (b"hello: world", "TOML or JSON"),
        (b"format: routeradmin.catalog/1\nproviders: []", "TOML or JSON"),
        (b"\xff\xfe", "see byte 0"),
    ],
)
def test_what_is_none_of_them_is_told_what_is_accepted(data: bytes, told: str) -> None:
    with pytest.raises(Invalid) as refused:
        open_file(data)
    assert told in str(refused.value)


def test_an_unknown_format_is_told_those_there_are() -> None:
    with pytest.raises(Invalid, match="litellm-rs"):
        open_file(example_bytes(), "xml")
