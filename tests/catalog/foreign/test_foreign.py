"""Which program a file belongs to, and files that are hostile."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routeradmin.catalog.files import foreign, write
from routeradmin.catalog.files import read as read_catalog
from routeradmin.catalog.files.drafting import Drafting
from routeradmin.catalog.problems import Invalid
from tests.catalog.foreign.drafts import draft_of, fixture_bytes

FILES = {
    "litellm.yaml": "litellm",
    "litellm-rs.yaml": "litellm-rs",
    "litellm-rs-configmap.yaml": "litellm-rs",
    "switchailocal.yaml": "switchailocal",
    "switchailocal-v8.yaml": "switchailocal",
}


@pytest.mark.parametrize(("name", "source"), FILES.items())
def test_the_program_is_recognised_by_its_keys(name: str, source: str) -> None:
    assert draft_of(name).source == source


@pytest.mark.parametrize("name", FILES)
def test_a_draft_is_a_catalog_that_survives_export(name: str) -> None:
    exported = write(draft_of(name).document)
    assert write(read_catalog(exported)) == exported
    assert b"made-up" not in exported


def test_a_file_of_no_known_program_is_refused() -> None:
    with pytest.raises(Invalid):
        foreign.read(b"hello: world")


@pytest.mark.parametrize(
    "data",
    [
        b"a: [",
        b"- a",
        b"\xff",
        b"a: &a [*a]",
        b"a: !!python/object/apply:os.system [ls]",
        b"a: &a [1,1,1,1,1,1,1,1,1,1]\n"
        + b"".join(
            b"%c: &%c [%s]\n" % (97 + n, 97 + n, b",".join([b"*%c" % (96 + n)] * 10))
            for n in range(1, 12)
        ),
        b"[" * 5000,
        b"model_list:\n  - model_name: a*b*\n    litellm_params: {model: openai/x}",
    ],
)
@pytest.mark.parametrize("source", ["auto", *foreign.READERS])
def test_hostile_yaml_is_refused_and_nothing_is_executed(data: bytes, source: str) -> None:
    if b"model_list" in data and source not in ("auto", "litellm"):
        return
    with pytest.raises(Invalid):
        foreign.read(data, source)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["name", "api-key", "model", "models", "a"]), inner)
    ),
    max_leaves=5,
)


@pytest.mark.parametrize("name", FILES)
@given(data=st.data())
def test_no_value_anywhere_does_more_than_being_refused(name: str, data: st.DataObject) -> None:
    """One place of a good file is replaced by anything."""
    whole = foreign.yaml_source.load(fixture_bytes(name))[0]
    parent = whole
    while True:
        keys = list(parent) if isinstance(parent, dict) else list(range(len(parent)))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(parent[key], dict | list) or not parent[key] or data.draw(st.booleans()):
            parent[key] = data.draw(values)
            break
        parent = parent[key]
    reader = {
        "litellm": foreign.litellm,
        "litellm-rs": foreign.litellm_rs,
        "switchailocal": foreign.switchailocal,
    }[FILES[name]]
    with contextlib.suppress(Invalid):
        reader.from_values(whole, Drafting(FILES[name]))
