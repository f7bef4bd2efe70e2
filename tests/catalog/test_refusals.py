"""One row per refusal that needs more than one field: what is changed, and the place told."""

from __future__ import annotations

from typing import Any

import pytest

from routeradmin.catalog import validate
from routeradmin.catalog.problems import Invalid, Severity
from tests.catalog.documents import GONE, changed, document, small


def errors(values: dict[str, Any], **more: Any) -> dict[str, str]:
    found = validate.problems(document(values), **more)
    return {one.pointer: one.detail for one in found if one.severity is Severity.ERROR}


def target(id: str, route: str, deployment: str, position: int) -> dict[str, Any]:
    return {"id": id, "route_id": route, "serving_model_id": deployment, "position": position}


def test_the_catalog_that_all_rows_start_from_has_no_error() -> None:
    assert errors(small()) == {}


ROWS: list[tuple[str, dict[str, Any], str, str]] = [
    # duplicate ids, per kind
    ("provider twice", {"providers__2": {"id": "p", "category": "x"}}, "/providers/2/id", "p"),
    ("account twice", {"accounts__4__id": "metered"}, "/accounts/4/id", "metered"),
    ("endpoint twice", {"endpoints__4__id": "e-free"}, "/endpoints/4/id", "e-free"),
    ("model twice", {"models__2": {"id": "m", "upstream_name": "z"}}, "/models/2/id", "m"),
    ("deployment twice", {"serving_models__4__id": "d-free"}, "/serving_models/4/id", "d-free"),
    ("route twice", {"routes__1__id": "r"}, "/routes/1/id", "r"),
    ("target twice", {"targets__1__id": "r0"}, "/targets/1/id", "r0"),
    ("alias twice", {"aliases__1__name": "a"}, "/aliases/1/name", "a"),
    ("policy twice", {"policies__1": {"id": "pol"}}, "/policies/1/id", "pol"),
    (
        "rule twice",
        {"rules__1": {"id": "ru", "route_id": "r", "only": ["d-free"]}},
        "/rules/1/id",
        "ru",
    ),
    ("intent twice", {"intents__1": {"id": "in", "route_id": "r"}}, "/intents/1/id", "in"),
    # accounts
    (
        "anonymous with a secret",
        {"accounts__1__secret_reference_id": "s9"},
        "/accounts/1/secret_reference_id",
        "anonymous",
    ),
    (
        "anonymous with a key header",
        {"accounts__1__api_key_header": "k"},
        "/accounts/1/api_key_header",
        "api-key",
    ),
    (
        "bearer without a secret",
        {"accounts__0__secret_reference_id": GONE},
        "/accounts/0/secret_reference_id",
        "bearer",
    ),
    (
        "subscription without a secret",
        {"accounts__2__secret_reference_id": GONE},
        "/accounts/2/secret_reference_id",
        "subscription-oauth",
    ),
    (
        "api-key without a header",
        {"accounts__3__api_key_header": GONE},
        "/accounts/3/api_key_header",
        "header",
    ),
    (
        "bearer with a header",
        {"accounts__0__api_key_header": "k"},
        "/accounts/0/api_key_header",
        "api-key",
    ),
    (
        "a mask instead of a reference",
        {"accounts__0__secret_reference_id": "***"},
        "/accounts/0/secret_reference_id",
        "mask",
    ),
    (
        "subscription-oauth billed by use",
        {"accounts__2__billing_kind": "metered"},
        "/accounts/2/billing_kind",
        "subscription",
    ),
    ("unknown provider", {"accounts__0__provider_id": "zz"}, "/accounts/0/provider_id", "zz"),
    (
        "a subscription's secret shared",
        {"accounts__4__secret_reference_id": "s2"},
        "/accounts/4/secret_reference_id",
        "sub, foreign",
    ),
    # endpoints
    ("unknown account", {"endpoints__0__account_id": "zz"}, "/endpoints/0/account_id", "zz"),
    (
        "a header that carries a key elsewhere",
        {"endpoints__0__headers": {"K": "v"}},
        "/endpoints/0/headers/k",
        "key",
    ),
    # deployments
    (
        "unknown endpoint",
        {"serving_models__0__endpoint_id": "zz"},
        "/serving_models/0/endpoint_id",
        "zz",
    ),
    ("unknown model", {"serving_models__0__model_id": "zz"}, "/serving_models/0/model_id", "zz"),
    (
        "unknown credential",
        {"serving_models__0__account_ids": ["metered", "zz"]},
        "/serving_models/0/account_ids/1",
        "zz",
    ),
    (
        "credential twice",
        {"serving_models__0__account_ids": ["metered", "metered"]},
        "/serving_models/0/account_ids/1",
        "metered",
    ),
    (
        "another provider's credential",
        {"serving_models__0__account_ids": ["foreign"]},
        "/serving_models/0/account_ids/0",
        "q",
    ),
    (
        "more output than window",
        {"serving_models__0__capabilities__max_output_tokens": 4097},
        "/serving_models/0/capabilities/max_output_tokens",
        "context_window",
    ),
    (
        "a subscription over chat completions",
        {"serving_models__2__protocol": "chat-completions"},
        "/serving_models/2/protocol",
        "messages",
    ),
    (
        "a subscription over responses too",
        {"serving_models__2__protocols": ["messages", "responses"]},
        "/serving_models/2/protocols/1",
        "messages",
    ),
    (
        "subscription and metered in one deployment",
        {"serving_models__2__account_ids": ["sub", "metered"]},
        "/serving_models/2/account_ids",
        "mixes",
    ),
    # targets
    ("target of no route", {"targets__1__route_id": "zz"}, "/targets/1/route_id", "zz"),
    (
        "target without deployment",
        {"targets__1__serving_model_id": "zz"},
        "/targets/1/serving_model_id",
        "zz",
    ),
    # routes
    ("no target", {"targets__2__route_id": "r", "targets__2__position": 2}, "/routes/1", "target"),
    ("position 0 missing", {"targets__0__position": 2}, "/targets/0/position", "0 is missing"),
    ("a gap in positions", {"targets__1__position": 2}, "/targets/1/position", "1 is missing"),
    (
        "the same deployment twice",
        {"targets__1__serving_model_id": "d-metered"},
        "/targets/1/serving_model_id",
        "d-metered",
    ),
    ("alias of two routes", {"routes__1__alias": "chat"}, "/routes/1/alias", "chat"),
    (
        "alias of two routes but for spelling",
        {"routes__0__alias": " cafe\u0301", "routes__1__alias": "caf\u00e9 ", "aliases": GONE}
        | {"defaults": GONE},
        "/routes/1/alias",
        "caf\u00e9",
    ),
    ("unknown policy", {"routes__0__policy_id": "zz"}, "/routes/0/policy_id", "zz"),
    ("unknown preview", {"routes__0__preview": ["zz"]}, "/routes/0/preview/0", "zz"),
    (
        "preview twice",
        {"routes__0__preview": ["d-keyed", "d-keyed"]},
        "/routes/0/preview/1",
        "d-keyed",
    ),
    (
        "an upstream pattern behind an exact alias",
        {"targets__1__serving_model_id": "d-star"},
        "/targets/1/serving_model_id",
        "d-star",
    ),
    (
        "an upstream pattern in the preview of an exact alias",
        {"routes__0__preview": ["d-star"]},
        "/routes/0/preview/0",
        "d-star",
    ),
    # subscription billing
    (
        "subscription and metered in one tier",
        {"targets__6": target("s1", "s", "d-keyed", 0)},
        "/routes/1",
        "position 0 of s",
    ),
    (
        "subscription and metered across tiers with fallback on",
        {"targets__6": target("s1", "s", "d-keyed", 1), "routes__1__fallback_enabled": True},
        "/routes/1/fallback_enabled",
        "fallback is on",
    ),
    (
        "subscription and self-hosted across tiers with fallback on",
        {"targets__6": target("s1", "s", "d-free", 1), "routes__1__fallback_enabled": True},
        "/routes/1/fallback_enabled",
        "self-hosted",
    ),
    (
        "subscription and metered preview with fallback on",
        {"routes__1__preview": ["d-metered"], "routes__1__fallback_enabled": True},
        "/routes/1/fallback_enabled",
        "metered",
    ),
    (
        "subscription and metered by the policy's fallback routes",
        {
            "policies__0__fallback": {"rate_limit": ["r"]},
            "routes__1__policy_id": "pol",
            "routes__1__fallback_enabled": True,
        },
        "/routes/1/fallback_enabled",
        "fallback route r",
    ),
    (
        "subscription and metered by the default policy's fallback routes",
        {
            "policies__0__fallback": {"general": ["s"]},
            "defaults__policy_id": "pol",
            "routes__0__fallback_enabled": True,
        },
        "/routes/0/fallback_enabled",
        "fallback route s",
    ),
    # aliases
    (
        "alias named like a route",
        {"aliases__0__name": "paid"},
        "/aliases/0/name",
        "paid is the alias of route s",
    ),
    ("alias to nothing", {"aliases__1__target": "zz"}, "/aliases/1/target", "zz"),
    ("alias to a pattern", {"aliases__1__target": "w-*"}, "/aliases/1/target", "pattern"),
    (
        "alias that is a pattern",
        {"aliases__2": {"name": "x*", "target": "chat"}},
        "/aliases/2/name",
        "*",
    ),
    # policies, rules, intents, defaults
    (
        "cap below its base",
        {"policies__0__cooldown": {"transient_cap_s": 1}},
        "/policies/0/cooldown/transient_cap_s",
        "base",
    ),
    (
        "rate-limit cap below its base",
        {"policies__0__cooldown": {"rate_limited_base_s": 60, "rate_limited_cap_s": 30}},
        "/policies/0/cooldown/rate_limited_cap_s",
        "base",
    ),
    (
        "unknown fallback route",
        {"policies__0__fallback": {"content_policy": ["r", "zz"]}},
        "/policies/0/fallback/content_policy/1",
        "zz",
    ),
    ("rule of no route", {"rules__0__route_id": "zz"}, "/rules/0/route_id", "zz"),
    ("rule for nothing", {"rules__0__only": []}, "/rules/0/only", "deployment"),
    ("rule for the unknown", {"rules__0__only": ["zz"]}, "/rules/0/only/0", "zz"),
    (
        "hours that are none",
        {"rules__0__when": {"hours": "9-17"}},
        "/rules/0/when/hours/0",
        "22:00-06:00",
    ),
    (
        "least tokens above most",
        {"rules__0__when": {"min_input_tokens": 2, "max_input_tokens": 1}},
        "/rules/0/when/max_input_tokens",
        "min_input_tokens",
    ),
    ("intent of no route", {"intents__0__route_id": "zz"}, "/intents/0/route_id", "zz"),
    ("unknown default policy", {"defaults__policy_id": "zz"}, "/defaults/policy_id", "zz"),
    (
        "auto tries the unknown",
        {"defaults__auto_priority": ["chat", "p:zz"]},
        "/defaults/auto_priority/1",
        "p:zz",
    ),
]


@pytest.mark.parametrize(
    ("changes", "place", "words"),
    [pytest.param(changes, place, words, id=name) for name, changes, place, words in ROWS],
)
def test_a_refusal_is_told_at_its_place(changes: dict[str, Any], place: str, words: str) -> None:
    found = errors(changed(small(), **changes))

    assert place in found
    assert words in found[place]


def test_with_fallback_off_a_subscription_may_stand_before_metered_targets() -> None:
    assert errors(changed(small(), targets__6=target("s1", "s", "d-keyed", 1))) == {}


def test_a_subscription_may_stand_beside_another_one_billed_the_same_way() -> None:
    bearer = {"accounts__0__billing_kind": "subscription", "routes__1__fallback_enabled": True}
    values = changed(small(), targets__6=target("s1", "s", "d-metered", 0), **bearer)

    assert errors(values) == {}


def test_a_fallback_route_whose_own_fallback_is_off_counts_with_its_first_tier_only() -> None:
    values = changed(
        small(),
        targets__6=target("s1", "s", "d-keyed", 1),
        targets__7=target("v0", "v", "d-free", 0),
        routes__3={"id": "v", "alias": "v", "fallback_enabled": True, "policy_id": "pol"},
        policies__0__fallback={"general": ["w"]},
    )
    assert errors(values) == {}
    assert "/routes/3/fallback_enabled" in errors(
        changed(values, policies__0__fallback={"general": ["s"]})
    )


def test_every_error_is_told_at_once_and_check_raises_them_together() -> None:
    values = changed(
        small(), accounts__0__provider_id="zz", routes__0__policy_id="zz", aliases__1__target="zz"
    )
    with pytest.raises(Invalid) as caught:
        validate.check(document(values))

    assert [one.pointer for one in caught.value.problems] == [
        "/accounts/0/provider_id",
        "/routes/0/policy_id",
        "/aliases/1/target",
    ]


def test_the_fourth_of_five_deployments_is_named_with_its_field() -> None:
    values = changed(small(), serving_models__3__model_id="missing")
    assert list(errors(values)) == ["/serving_models/3/model_id"]


def test_problems_of_a_merged_catalog_are_placed_in_the_file_that_was_merged() -> None:
    merged = document(
        changed(small(), serving_models__3__model_id="gone", routes__2__policy_id="gone")
    )
    file = document(
        {"format": "routeradmin.catalog/1", "serving_models": [small()["serving_models"][3]]}
    )
    errors = [one for one in validate.problems(merged) if one.severity is Severity.ERROR]
    found = validate.as_in_file(errors, merged, file)

    assert [one.pointer for one in found] == ["/serving_models/0/model_id", ""]
    assert found[1].detail == "routes w: gone is not declared"


def test_a_file_that_declares_an_id_twice_is_told_before_it_is_merged() -> None:
    file = document(changed(small(), models__2={"id": "m", "upstream_name": "z"}))
    assert [one.pointer for one in validate.duplicates(file)] == ["/models/2/id"]


def test_base_urls_are_judged_by_the_guard_that_is_passed_in() -> None:
    def guard(url: str) -> None:
        if "169.254" in url or "metadata" in url:
            raise ValueError("metadata addresses are never called")

    values = changed(
        small(),
        endpoints__0__base_url="http://169.254.169.254/v1",
        endpoints__2__base_url="http://metadata.google.internal/",
        endpoints__3__base_url="http://0xa9fea9fe/",  # the same address, as a client reads it
    )
    assert errors(values, check_url=guard) == {
        "/endpoints/0/base_url": "metadata addresses are never called",
        "/endpoints/2/base_url": "metadata addresses are never called",
        "/endpoints/3/base_url": "metadata addresses are never called",
    }
