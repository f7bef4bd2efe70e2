"""Where a turn goes when its route is spent: previews, and the policy's lists by class."""

from __future__ import annotations

from dataclasses import replace

import pytest

from routeradmin.engine.objects import Model
from routeradmin.engine.policy import FallbackLists, Policy, RetryPolicy, TurnPolicy
from tests.engine.turn_world import Drive, catalog, deployment, route

NAMES = ("A", "B", "C", "D", "E")
ALL = [deployment(name) for name in NAMES]


def once(lists: FallbackLists | None = None, **turn) -> Policy:
    return Policy(
        retry=RetryPolicy(max_attempts=1),
        turn=TurnPolicy(**turn),
        fallback=lists or FallbackLists(),
    )


def routes(script, lists: FallbackLists, **facts) -> Drive:
    """``m`` over A; other routes b, c, d, e over their one deployment."""
    turn = facts.pop("turn", {})
    others = [route([n], id=n.lower(), alias=n.lower(), policy_id="default") for n in NAMES[1:]]
    return Drive(catalog(ALL, route(["A"], **facts), *others, policy=once(lists, **turn)), script)


def served(drive: Drive) -> list[str]:
    return [call.partition("/")[0] for call in drive.calls]


@pytest.mark.parametrize(
    ("said", "lists", "halt", "calls"),
    [
        (500, FallbackLists(general=("b",)), "succeeded", "AB"),
        (429, FallbackLists(general=("b",)), "succeeded", "AB"),
        (429, FallbackLists(general=("b",), rate_limit=("c",)), "succeeded", "AC"),
        (402, FallbackLists(general=("b",), rate_limit=("c",)), "succeeded", "AC"),
        (429, FallbackLists(general=("b",), rate_limit=()), "exhausted", "A"),
        ("content_filter", FallbackLists(general=("b",)), "ineligible-failure", "A"),
        ("content_filter", FallbackLists(("b",), content_policy=("c",)), "succeeded", "AC"),
        ("content_filter", FallbackLists(("b",), content_policy=()), "ineligible-failure", "A"),
        ("context_length_exceeded", FallbackLists(("b",)), "ineligible-failure", "A"),
        ("context_length_exceeded", FallbackLists(context_window=("c",)), "succeeded", "AC"),
        (400, FallbackLists(general=("b",)), "ineligible-failure", "A"),
        (401, FallbackLists(general=("b",)), "ineligible-failure", "A"),
        (500, FallbackLists(general=("r", "b", "b")), "succeeded", "AB"),
        (500, FallbackLists(general=("gone", "b")), "succeeded", "AB"),
        (500, FallbackLists(), "exhausted", "A"),
    ],
)
def test_the_last_class_chooses_the_list(said, lists, halt, calls):
    drive = routes({"A": [said]}, lists)
    assert drive.run().halt == halt
    assert "".join(served(drive)) == calls


def test_a_content_policy_failure_skips_the_remaining_tiers():
    lists = FallbackLists(content_policy=("c",))
    snapshot = catalog(
        ALL, route(["A"], ["B"]), route(["C"], id="c", alias="c"), policy=once(lists)
    )
    drive = Drive(snapshot, {"A": ["content_policy_violation"]})
    assert drive.run().halt == "succeeded"
    assert served(drive) == ["A", "C"]
    assert drive.state("A").cooldown is None


def test_a_list_whose_routes_refuse_too_ends_as_the_callers_fault():
    drive = routes(
        {"A": ["content_filter"], "C": ["content_filter"]}, FallbackLists(content_policy=("c",))
    )
    assert drive.run().halt == "ineligible-failure"
    assert served(drive) == ["A", "C"]


def test_the_list_once_chosen_is_walked_to_its_end():
    lists = FallbackLists(general=("b",), rate_limit=("c", "d"))
    drive = routes({"A": [429], "C": [500], "D": [500]}, lists)
    assert drive.run().halt == "exhausted"
    assert served(drive) == ["A", "C", "D"]


def test_a_context_failure_on_the_way_turns_to_its_own_list():
    lists = FallbackLists(general=("b", "d"), context_window=("c",))
    drive = routes({"A": [500], "B": ["context_length_exceeded"]}, lists)
    assert drive.run().halt == "succeeded"
    assert served(drive) == ["A", "B", "C"]


def test_extra_routes_are_bounded():
    lists = FallbackLists(general=("b", "c", "d"))
    drive = routes({name: [500] for name in NAMES}, lists, turn={"max_fallback_routes": 1})
    assert drive.run().halt == "exhausted"
    assert served(drive) == ["A", "B"]


def test_lists_are_off_where_the_route_has_no_fallback():
    drive = routes({"A": [500]}, FallbackLists(general=("b",)), fallback_enabled=False)
    assert drive.run().halt == "exhausted"
    drive = routes(
        {"A": ["content_filter"]}, FallbackLists(content_policy=("b",)), fallback_enabled=False
    )
    assert drive.run().halt == "ineligible-failure"


def test_lists_are_not_transitive_and_cycles_are_harmless():
    snapshot = catalog(
        ALL,
        route(["A"], id="r1", alias="r1", policy_id="one"),
        route(["B"], id="r2", alias="r2", policy_id="two"),
    )
    policies = {
        "one": once(FallbackLists(general=("r2",))),
        "two": once(FallbackLists(general=("r1",))),
    }
    snapshot = catalog_with(snapshot, policies)
    drive = Drive(snapshot, {"A": [503], "B": [503]})
    assert drive.run("r1").halt == "exhausted"
    assert served(drive) == ["A", "B"]


def catalog_with(snapshot, policies):
    routes = {
        id: replace(route, policy=policies.get("one" if id == "r1" else "two", route.policy))
        for id, route in snapshot.routes.items()
    }
    return replace(snapshot, routes=routes)


def test_no_deployment_is_visited_by_two_routes_or_two_tiers():
    shared = route(["A", "B"], id="b", alias="b")
    policy = once(FallbackLists(general=("b",)))
    drive = Drive(catalog(ALL, route(["A"]), shared, policy=policy), {"A": [503], "B": [503]})
    assert drive.run().halt == "exhausted"
    assert served(drive) == ["A", "B"]
    twice = catalog(ALL, route(["A"], ["A"], ["B"]), policy=once())
    drive = Drive(twice, {"A": [503], "B": [503]})
    assert drive.run().halt == "exhausted"
    assert served(drive) == ["A", "B"]


def test_a_cooling_route_goes_by_its_rate_limit_list_without_an_attempt():
    drive = routes({}, FallbackLists(general=("b",), rate_limit=("c",)))
    drive.cool("A", 60)
    assert drive.run().halt == "succeeded"
    assert served(drive) == ["C"]
    drive = routes({}, FallbackLists(general=("b",)))
    drive.cool("A", 60, "transient")
    assert drive.run().halt == "succeeded"
    assert served(drive) == ["B"]


def previewed(script, **facts) -> Drive:
    main, preview = deployment("M", "k1", "k2"), deployment("P", "k1", "k2")
    tail = deployment("T")
    r = route(["M"], ["T"], preview=("P",), **facts)
    return Drive(catalog([main, preview, tail], r, policy=facts.pop("policy", once())), script)


def test_previews_follow_the_other_credentials_after_a_rate_limit():
    drive = previewed({"M": [429], "P": [429]})
    assert drive.run().halt == "succeeded"
    assert drive.calls == ["M/k1", "M/k2", "P/k1", "P/k2", "T/k"]


def test_previews_start_with_the_credential_that_was_tried_first():
    drive = previewed({"M": [429], "P": [429]})
    drive.cool("M", 60, key="k1")
    assert drive.run().halt == "succeeded"
    assert drive.calls == ["M/k2", "P/k2", "P/k1", "T/k"]


def test_previews_are_for_rate_limits_and_quota_alone():
    drive = previewed({"M": [500]})
    assert drive.run().halt == "succeeded"
    assert drive.calls == ["M/k1", "M/k2", "T/k"]
    drive = previewed({"M": [402]})
    assert drive.run().halt == "succeeded"
    assert drive.calls == ["M/k1", "M/k2", "P/k1"]


def test_previews_are_off_with_fallback_and_come_once_per_turn():
    drive = previewed({"M": [429]}, fallback_enabled=False)
    assert drive.run().halt == "exhausted"
    assert drive.calls == ["M/k1", "M/k2"]
    main, preview = deployment("M"), deployment("P")
    r = route(["M"], preview=("P",))
    twice = replace(once(), retry=RetryPolicy(max_attempts=2))
    drive = Drive(catalog([main, preview], r, policy=twice), {"M": [429], "P": [429]})
    assert drive.run().halt == "exhausted"
    assert drive.calls == ["M/k", "P/k", "M/k"]


def test_a_preview_that_cools_is_left_out():
    drive = previewed({"M": [429]})
    drive.cool("P", 60, key="k1")
    assert drive.run().halt == "succeeded"
    assert drive.calls == ["M/k1", "M/k2", "P/k2"]


def patterned(fallbacks: tuple[str, ...], *more) -> Drive:
    """Routes ``big-*`` and ``small-*``, whose deployments take what the ``*`` matched."""
    big, small = (replace(deployment(name), model=Model("mm", "up-*")) for name in ("A", "B"))
    routes = [
        route(["A"], id="big", alias="big-*"),
        route(["B"], id="small", alias="small-*", policy_id="default"),
        *more,
    ]
    policy = once(FallbackLists(general=fallbacks))
    return Drive(catalog([big, small, *ALL[2:]], *routes, policy=policy), {"A/k@up-eu": [500]})


def test_a_fallback_route_with_a_pattern_takes_what_the_asked_for_name_matched():
    drive = patterned(("small",))
    assert drive.run("big-eu").halt == "succeeded"
    assert drive.calls == ["A/k@up-eu", "B/k@up-eu"]


def test_a_pattern_has_nothing_to_take_where_an_exact_name_was_asked_for():
    drive = patterned(("small", "c"), route(["C"], id="c", alias="c"), route(["D"]))
    drive.script["D"] = [500]
    assert drive.run("m").halt == "succeeded"
    assert drive.calls == ["D/k", "C/k"]


def test_a_pattern_whose_name_another_route_answers_to_is_passed_over():
    drive = patterned(("small", "c"), route(["C"], id="c", alias="small-eu"))
    assert drive.run("big-eu").halt == "succeeded"
    assert drive.calls == ["A/k@up-eu", "C/k"]
