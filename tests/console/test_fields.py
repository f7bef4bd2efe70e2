"""Fields of the catalog's own types: what they show is what they read."""

from __future__ import annotations

import pytest
from django import forms
from hypothesis import given
from hypothesis import strategies as st

from routeradmin.console.fields import Words, joined, split

ODD = st.lists(st.text(st.sampled_from('ab ,"\u00a0é='), max_size=6), max_size=5)


@given(ODD)
def test_a_list_of_words_is_read_as_it_was_shown(words: list[str]) -> None:
    assert split(joined(words)) == words


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("", []),
        (" , ,", []),
        ("eu, cheap", ["eu", "cheap"]),
        ("eu ,,cheap,", ["eu", "cheap"]),
        ('"hello, world", hi', ["hello, world", "hi"]),
        ('say "hi", bye', ['say "hi"', "bye"]),
        ('"a ""b""" , c', ['a "b"', "c"]),
    ],
)
def test_words_are_separated_by_commas_outside_quotes(typed: str, words: list[str]) -> None:
    assert Words(required=False).clean(typed) == words


@pytest.mark.parametrize("typed", ['"hello, world', 'a, "b" c', '"'])
def test_a_quote_without_its_other_is_refused(typed: str) -> None:
    with pytest.raises(forms.ValidationError, match="Close the quotes"):
        Words(required=False).clean(typed)
