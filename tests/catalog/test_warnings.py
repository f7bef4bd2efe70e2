"""What is allowed, and yet told."""

from __future__ import annotations

from typing import Any

from routeradmin.catalog import validate
from tests.catalog.documents import GONE, changed, document, small

UNUSED = "/fallback_enabled"  # the small catalog leaves it off: a test of its own tells of that


def warnings(**changes: Any) -> dict[str, str]:
    quiet = changed(small(), **changes)
    found = validate.check(document(quiet))
    return {one.pointer: one.detail for one in found if not one.pointer.endswith(UNUSED)}


def test_later_tiers_that_fallback_never_reaches_are_told() -> None:
    found = {one.pointer: one.detail for one in validate.check(document(small()))}
    assert found == {
        "/routes/0/fallback_enabled": "tier 2 is not used: fallback of r to later tiers is off",
        "/routes/2/fallback_enabled": "tiers 2 to 3 are not used: fallback of w to later tiers "
        "is off",
    }
    on = changed(small(), routes__0__fallback_enabled=True)
    assert [one.pointer for one in validate.check(document(on))] == ["/routes/2/fallback_enabled"]


def test_the_small_catalog_has_nothing_to_warn_of() -> None:
    assert warnings() == {}


def test_fallback_lists_that_lead_back_are_named_once_with_their_path() -> None:
    found = warnings(
        policies=[
            {"id": "one", "fallback": {"general": ["w"]}},
            {"id": "two", "fallback": {"general": ["r"]}},
        ],
        routes__0__policy_id="one",
        routes__2__policy_id="two",
    )
    assert found == {"/routes/0": "general fallback leads back: r -> w -> r"}


def test_a_route_in_its_own_fallback_list_is_no_cycle() -> None:
    assert warnings(policies__0__fallback={"general": ["r"]}, routes__0__policy_id="pol") == {}


def test_a_route_with_everything_off_behind_it_is_told() -> None:
    off = {"serving_models__2__admin_state": "disabled"}
    assert list(warnings(**off)) == ["/routes/1"]
    assert warnings(**off, routes__1__admin_state="disabled") == {}
    assert list(warnings(accounts__2__admin_state="draining")) == ["/routes/1"]
    assert list(warnings(serving_models__2__rpm_limit=0)) == ["/routes/1"]


def test_credentials_that_nothing_uses_are_told() -> None:
    extra = {"id": "x", "provider_id": "p", "auth_kind": "anonymous", "billing_kind": "metered"}
    assert list(warnings(accounts__5=extra)) == ["/accounts/5"]


def test_references_without_a_secret_are_told_when_they_can_be_asked_for() -> None:
    found = validate.check(document(small()), is_set=lambda reference: reference != "s2")
    assert [one.pointer for one in found][-1:] == ["/accounts/2/secret_reference_id"]


def test_a_tier_whose_weights_are_all_zero_is_told() -> None:
    zero = {f"serving_models__{index}__weight": 0 for index in (0, 1)}
    assert list(warnings(**zero, targets__1__position=0)) == ["/routes/0"]
    assert warnings(**zero) == {}


def test_a_rule_that_leaves_nothing_is_told() -> None:
    assert list(warnings(rules__0__only=["d-keyed"])) == ["/rules/0/only"]
    assert warnings(rules=GONE) == {}
