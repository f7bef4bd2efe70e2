"""Which route answers to a name."""

from __future__ import annotations

import pytest

from routeradmin.engine.errors import InvalidCatalog, ModelNotFound
from routeradmin.engine.resolve import resolve
from routeradmin.engine.select import resolve_for
from routeradmin.engine.snapshot import Defaults
from tests.engine.world import ASK, NOW, World, catalog, deployment, route


def chain(length: int) -> dict[str, str]:
    """Aliases a1 -> a2 -> ... -> m, ``length`` of them."""
    links = {f"a{n}": f"a{n + 1}" for n in range(1, length)}
    return {**links, f"a{length}": "m"}


def test_an_alias_of_an_alias_reaches_the_route() -> None:
    snapshot = catalog([deployment("d")], aliases={"a": "b", "b": "m"})
    assert resolve(snapshot, "a").route.id == "r"


def test_sixteen_hops_resolve_and_seventeen_do_not() -> None:
    assert resolve(catalog([deployment("d")], aliases=chain(16)), "a1").route.id == "r"
    with pytest.raises(ModelNotFound):
        resolve(catalog([deployment("d")], aliases=chain(17)), "a1")


def test_a_loop_of_aliases_answers_nothing() -> None:
    snapshot = catalog([deployment("d")], aliases={"a": "b", "b": "c", "c": "a", "s": "s"})
    for name in "abcs":
        with pytest.raises(ModelNotFound):
            resolve(snapshot, name)


def test_a_route_wins_over_an_alias_of_the_same_name() -> None:
    snapshot = catalog([deployment("d")], aliases={"m": "elsewhere"})
    assert resolve(snapshot, "m").route.id == "r"


def test_an_upstream_star_is_no_model_to_ask_a_provider_for() -> None:
    snapshot = catalog([deployment("d", upstream="*")], route(["d"], alias="v-*"))
    for name in ("p:*", "p:mm"):
        with pytest.raises(ModelNotFound):
            resolve(snapshot, name)


def test_an_unknown_name_is_named_as_it_was_asked_for() -> None:
    with pytest.raises(ModelNotFound, match="'gpt-9'") as caught:
        resolve(catalog([deployment("d")], aliases={"a": "gone"}), " gpt-9 ".strip())
    assert caught.value.requested == "gpt-9"


def test_a_dangling_alias_names_the_requested_name() -> None:
    with pytest.raises(ModelNotFound) as caught:
        resolve(catalog([deployment("d")], aliases={"a": "gone"}), "a")
    assert caught.value.requested == "a"


def test_names_are_compared_after_nfc_and_trimming() -> None:
    composed, decomposed = "caf\u00e9", "cafe\u0301"
    snapshot = catalog([deployment("d")], route(["d"], alias=composed))
    assert resolve(snapshot, f" {decomposed} ").route.alias == composed


def test_an_exact_name_wins_over_patterns_and_the_longest_literal_over_shorter_ones() -> None:
    snapshot = catalog(
        [deployment("d")],
        route(["d"], id="any", alias="*"),
        route(["d"], id="gpt", alias="gpt-*"),
        route(["d"], id="mini", alias="gpt-*-mini"),
        route(["d"], id="exact", alias="gpt-4-mini"),
    )
    found = {
        name: resolve(snapshot, name).route.id
        for name in ("gpt-4-mini", "gpt-5-mini", "gpt-5", "o1", "gpt-", "gpt--mini", "gpt-mini")
    }
    assert found == {
        "gpt-4-mini": "exact",
        "gpt-5-mini": "mini",
        "gpt-5": "gpt",
        "o1": "any",
        "gpt-": "gpt",
        "gpt--mini": "mini",
        "gpt-mini": "gpt",
    }


def test_a_star_in_the_upstream_name_takes_what_the_pattern_matched() -> None:
    snapshot = catalog(
        [deployment("star", upstream="vendor/*-latest"), deployment("plain")],
        route(["star", "plain"], alias="v-*", preview=["star"]),
    )
    found = resolve(snapshot, "v-large")
    assert [c.upstream_name for c in found.route.candidates] == ["up", "vendor/large-latest"]
    assert [c.key.matched for c in found.route.candidates] == ["", "vendor/large-latest"]
    assert found.route.preview[0].upstream_name == "vendor/large-latest"
    assert found.matched == "large"
    assert str(found.route.candidates[1].key) == "star/k@vendor/large-latest"


@pytest.mark.parametrize("name", ["v-" + "x" * 255, "v-\0", "v-a\nb"])
def test_a_name_that_no_object_could_have_matches_no_pattern(name: str) -> None:
    snapshot = catalog([deployment("d", upstream="*")], route(["d"], alias="v-*"))
    assert resolve(snapshot, "v-" + "x" * 254).matched == "x" * 254
    with pytest.raises(ModelNotFound):
        resolve(snapshot, name)


def test_derived_routes_are_cached_and_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    from routeradmin.engine import resolve as module

    monkeypatch.setattr(module, "DERIVED_ROUTES", 2)
    snapshot = catalog([deployment("d", upstream="*")], route(["d"], alias="v-*"))
    first = resolve(snapshot, "v-a").route
    assert resolve(snapshot, "v-a").route is first
    for name in ("v-b", "v-a", "v-c"):
        resolve(snapshot, name)
    assert [matched for _, matched in snapshot.derived] == ["a", "c"]


def test_a_pattern_without_an_upstream_star_shares_one_route() -> None:
    snapshot = catalog([deployment("d")], route(["d"], alias="v-*"))
    assert resolve(snapshot, "v-a").route is resolve(snapshot, "v-b").route


def test_an_alias_may_lead_to_a_name_that_a_pattern_answers_to() -> None:
    snapshot = catalog(
        [deployment("d", upstream="*")], route(["d"], alias="v-*"), aliases={"big": "v-large"}
    )
    found = resolve(snapshot, "big")
    assert found.matched == "large"
    assert found.requested == "big"


def test_provider_and_model_make_an_implicit_route_with_the_defaults() -> None:
    snapshot = catalog(
        [
            deployment("a", upstream="gpt-4o"),
            deployment("b", model="gpt-4o", upstream="other"),
            deployment("c", upstream="gpt-4o", provider="q"),
        ],
        route(["a"]),
        defaults=Defaults(strategy="round_robin"),
    )
    found = resolve(snapshot, "p:gpt-4o")
    assert [c.deployment.id for c in found.route.candidates] == ["a", "b"]
    assert found.route.id == "p:gpt-4o"
    assert found.route.strategy == "round_robin"
    assert not found.route.fallback_enabled
    assert len(found.route.tiers) == 1
    assert resolve(snapshot, "p:gpt-4o").route is found.route
    with pytest.raises(ModelNotFound):
        resolve(snapshot, "p:gpt-5")


def test_auto_takes_the_first_listed_name_with_something_free() -> None:
    snapshot = catalog(
        [deployment("a"), deployment("b", upstream="x")],
        route(["a"], id="ra", alias="first"),
        defaults=Defaults(auto_priority=("gone", "first", "p:x")),
    )
    world = World(snapshot)
    assert resolve_for(snapshot, "auto", ASK, world.store, NOW).route.id == "ra"
    world.cool("a", 60)
    assert resolve_for(snapshot, "auto", ASK, world.store, NOW).route.id == "p:x"
    world.cool("b", 60)
    assert resolve_for(snapshot, "auto", ASK, world.store, NOW).route.id == "ra"


def test_auto_is_unknown_without_a_list_and_exact_where_a_route_is_called_so() -> None:
    with pytest.raises(ModelNotFound):
        resolve(catalog([deployment("d")]), "auto")
    named = catalog([deployment("d")], route(["d"], id="mine", alias="auto"))
    assert resolve(named, "auto").route.id == "mine"


def test_a_route_over_a_missing_deployment_is_refused() -> None:
    with pytest.raises(InvalidCatalog, match="'gone'"):
        catalog([deployment("d")], route(["gone"]))


def test_space_around_a_name_is_no_part_of_it_but_has_an_end() -> None:
    snapshot = catalog([deployment("a")])
    assert resolve(snapshot, " m ").requested == " m "
    with pytest.raises(ModelNotFound) as unknown:
        resolve(snapshot, "m" + " " * 10_000)
    assert len(str(unknown.value)) < 300
