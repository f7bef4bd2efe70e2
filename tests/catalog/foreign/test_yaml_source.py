"""YAML as other programs read it, and YAML that means harm."""

from __future__ import annotations

import time
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from routeradmin.catalog.files import yaml_source
from routeradmin.catalog.problems import Invalid


def loaded(text: str) -> dict[str, Any]:
    return yaml_source.load(text.encode())[0]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("1", 1),
        ("-7", -7),
        ("1_000", 1000),
        ("0x1F", 31),
        ("010", 8),
        ("1.5", 1.5),
        ("2.", 2.0),
        ("1e3", "1e3"),
        ("1.0e+3", 1000.0),
        (".inf", float("inf")),
        ("yes", True),
        ("Off", False),
        ("~", None),
        ("", None),
        ("null", None),
        ("nullify", "nullify"),
        ("2024-12-01", "2024-12-01"),
        ("2024-12-01-preview", "2024-12-01-preview"),
        ("12:30:00", "12:30:00"),
        ("'1'", "1"),
        ('"yes"', "yes"),
        ("!!str 1", "1"),
        ("9" * 65, "9" * 65),
        ("llama3.2:3b", "llama3.2:3b"),
        ("*", None),
    ],
)
def test_a_plain_word_is_what_other_readers_take_it_for(written: str, value: Any) -> None:
    if written == "*":
        with pytest.raises(Invalid):
            loaded(f"a: {written}")
    else:
        assert loaded(f"a: {written}") == {"a": value}


def test_merge_keys_bring_in_what_the_mapping_does_not_state() -> None:
    text = """
base: &base {key: shared, model: default}
other: &other {model: other, extra: 1}
own: {<<: *base, model: mine}
both: {<<: [*base, *other]}
quoted: {"<<": text}
"""
    found = loaded(text)
    assert found["own"] == {"key": "shared", "model": "mine"}
    assert found["both"] == {"key": "shared", "model": "default", "extra": 1}
    assert found["quoted"] == {"<<": "text"}


def test_a_key_that_stands_twice_is_told_with_both_lines_and_its_place() -> None:
    values, repeated = yaml_source.load(b"a:\n  - b: 1\n    b: 2\n")
    assert values == {"a": [{"b": 2}]}
    (told,) = repeated
    assert (told.place, told.detail[:22]) == ("/a/0/b", "stands on lines 2 and ")


words = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=6)
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | words | st.floats(-1e6, 1e6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=12,
)


@given(values=st.dictionaries(words, plain, max_size=4), flow=st.booleans())
def test_what_a_writer_wrote_is_read_back(values: dict[str, Any], flow: bool) -> None:
    text = yaml.safe_dump(values, default_flow_style=flow, allow_unicode=True)
    expected = {str(key): value for key, value in yaml.safe_load(text).items()}
    assert loaded(text) == _with_text_keys(expected)


def _with_text_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _with_text_keys(member) for key, member in value.items()}
    return [_with_text_keys(member) for member in value] if isinstance(value, list) else value


NINE = ",".join(["*a{0}"] * 9)
BOMB = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{NINE.format(n - 1)}]\n" for n in range(1, 12))
MERGES = "a0: &a0 {x: 1}\n" + "".join(
    f"a{n}: &a{n} {{<<: [{NINE.format(n - 1)}]}}\n" for n in range(1, 12)
)
CHAIN = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 400))
HOSTILE = {
    "an alias bomb": (BOMB, "once its aliases are written out: see line"),
    "a bomb of merge keys": (MERGES, "once its aliases are written out: see line"),
    "a tower of aliases": (CHAIN, "nested deeper than 64 levels: see line 6"),
    "an anchor in itself": ("a: &a [*a]", "holds itself: see line 1"),
    "deep brackets": ("a: " + "[" * 100_000, "see line 1, column"),
    "deep dashes": ("a:\n  " + "- " * 500_000, "nested deeper"),
    "deep mappings": ("".join(" " * n + "a:\n" for n in range(1500)), "see line 66"),
    "a tab": ("model_list:\n\t- a: 1\n", "see line 2, column 1"),
    "a list for a key": ("? [a, b]\n: 1\n", "a key must be text: see line 1"),
    "a type of Python": ("a: !!python/object/apply:os.system [id]", "a tag asks for a type"),
    "a second document": ("a: 1\n---\nb: 2\n", "more than one YAML document"),
    "a merge of text": ("a: {<<: text}", "merge key brings in mappings only"),
    "nothing but a list": ("- a", "must be a mapping"),
    "nothing": ("", "must be a mapping"),
    "control characters": ("a: \x00\x01", "is not valid YAML"),
    "an open quote of a megabyte": ('a: "' + "x" * 1_000_000, "see line 1, column"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_refused_with_its_place_and_soon(name: str) -> None:
    text, told = HOSTILE[name]
    started = time.process_time()
    with pytest.raises(Invalid) as refused:
        loaded(text)
    assert time.process_time() - started < 1
    assert told in str(refused.value)
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize("data", [b"a: \xff", bytes(range(256)) * 1000])
def test_what_is_no_text_is_told_by_its_first_bad_byte(data: bytes) -> None:
    with pytest.raises(Invalid, match="see byte"):
        yaml_source.load(data)


def test_what_is_too_large_is_not_even_read() -> None:
    with pytest.raises(Invalid) as refused:
        yaml_source.load(b"#" * (yaml_source.MAX_BYTES + 1))
    assert refused.value.code == "too-large"


def test_numbers_of_any_length_and_in_base_sixty_take_no_time() -> None:
    started = time.process_time()
    found = loaded("a: " + "9" * 100_000 + "\nb: 1" + ":59" * 100_000)
    assert all(isinstance(value, str) for value in found.values())
    assert time.process_time() - started < 1
