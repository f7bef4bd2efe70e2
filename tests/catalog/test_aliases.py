"""Aliases never loop, and lead to a route within 16 hops."""

from __future__ import annotations

from routeradmin.catalog import validate
from routeradmin.catalog.compile import compile
from routeradmin.catalog.problems import Severity
from tests.catalog.documents import changed, document, small


def errors_of(links: dict[str, str]) -> dict[str, str]:
    aliases = [{"name": name, "target": target} for name, target in links.items()]
    found = validate.problems(document(changed(small(), aliases=aliases)))
    return {one.pointer: one.detail for one in found if one.severity is Severity.ERROR}


def chain(length: int) -> dict[str, str]:
    links = {f"a{n}": f"a{n + 1}" for n in range(1, length)}
    return {**links, f"a{length}": "chat"}


def test_a_loop_is_told_once_with_every_name_in_it() -> None:
    found = errors_of({"a": "b", "b": "c", "c": "a"})

    assert list(found) == ["/aliases/0/target"]
    assert "a -> b -> c -> a" in found["/aliases/0/target"]


def test_an_alias_that_runs_into_a_loop_does_not_hide_or_repeat_it() -> None:
    found = errors_of({"x": "b", "a": "b", "b": "a", "y": "x"})

    assert list(found) == ["/aliases/1/target"]
    assert "b -> a -> b" in found["/aliases/1/target"]


def test_an_alias_of_itself_is_named() -> None:
    found = errors_of({"a": "a"})

    assert found == {"/aliases/0/target": "a is an alias of itself: point it elsewhere"}


def test_16_hops_resolve_and_the_17th_is_refused() -> None:
    assert errors_of(chain(16)) == {}

    found = errors_of(chain(17))
    assert list(found) == ["/aliases/0/target"]
    assert "17 hops" in found["/aliases/0/target"]


def test_a_chain_of_sixteen_reaches_its_route_in_the_snapshot() -> None:
    aliases = [{"name": name, "target": target} for name, target in chain(16).items()]
    snapshot = compile(document(changed(small(), aliases=aliases)), 1)

    assert snapshot.names["a1"] == "r"


def test_an_endless_chain_is_judged_in_one_pass() -> None:
    found = errors_of(chain(20_000))
    assert len(found) == 20_000 - 16


def test_an_alias_may_name_what_only_a_pattern_answers_to() -> None:
    assert errors_of({"fast": "w-small"}) == {}
