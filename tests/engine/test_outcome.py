"""The class, evidence and retriability of every way an attempt can end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routeradmin.engine.outcome import AttemptFacts, Ending, classify
from routeradmin.engine.policy import ClassifyRule
from routeradmin.engine.state import Dispatch
from tests.engine.provider_error_corpus import CASES, Case

NOW = 1_800_000_000.0


def ended(ending: Ending, status: int | None = None, document: object = None, **more):
    return classify(AttemptFacts(ending, status, document=document, **more), now=NOW)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_providers_error_gets_its_class(case: Case):
    found = ended(Ending.ANSWERED, case.status, case.document)
    assert found.failure == case.expected


def test_the_corpus_is_large_enough_to_mean_something():
    assert len(CASES) >= 60
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.parametrize(
    ("ending", "status", "failure", "dispatch", "retriable"),
    [
        (Ending.NOT_CONNECTED, None, "transient", "not-sent", True),
        (Ending.UNANSWERED, None, "transient", "unknown", True),
        (Ending.ANSWERED, 408, "transient", "unknown", True),
        (Ending.ANSWERED, 500, "transient", "unknown", True),
        (Ending.ANSWERED, 599, "transient", "unknown", True),
        (Ending.MALFORMED, 200, "transient", "accepted", True),
        (Ending.ERROR_INSIDE, 200, "transient", "accepted", True),
        (Ending.BROKEN, 200, "transient", "accepted", True),
        (Ending.ANSWERED, 429, "rate-limited", "rejected", True),
        (Ending.ANSWERED, 402, "quota", "rejected", False),
        (Ending.ANSWERED, 401, "unauthorized", "rejected", False),
        (Ending.ANSWERED, 403, "unauthorized", "rejected", False),
        (Ending.ANSWERED, 404, "not-found", "rejected", False),
        (Ending.ANSWERED, 307, "refused", "rejected", False),
        (Ending.ANSWERED, 400, "caller", "rejected", False),
        (Ending.ANSWERED, 413, "caller", "rejected", False),
        (Ending.ANSWERED, 422, "caller", "rejected", False),
        (Ending.CANCELLED, None, "cancelled", "unknown", False),
        (Ending.DEADLINE, None, "deadline", "unknown", False),
        (Ending.STOPPED, None, "cancelled", "unknown", False),
        (Ending.SUCCESS, 200, None, "accepted", False),
    ],
)
def test_every_row_of_the_table(ending, status, failure, dispatch, retriable):
    found = ended(ending, status)
    assert (found.failure, found.dispatch, found.retriable) == (failure, dispatch, retriable)


def test_silence_is_not_replayed_where_the_policy_says_so():
    facts = AttemptFacts(Ending.UNANSWERED)
    assert not classify(facts, now=NOW, replay_unanswered=False).retriable
    assert classify(AttemptFacts(Ending.ANSWERED, 500), now=NOW, replay_unanswered=False).retriable


def test_nothing_is_retriable_once_output_was_visible():
    assert not ended(Ending.BROKEN, 200, visible_output=True).retriable


@pytest.mark.parametrize(
    ("document", "failure"),
    [
        ({"error": {"message": "slow down", "code": 429}}, "rate-limited"),
        ({"error": {"message": "slow down", "code": "429"}}, "rate-limited"),
        ({"type": "error", "error": {"type": "overloaded_error"}}, "transient"),
        ({"type": "error", "error": {"type": "rate_limit_error"}}, "rate-limited"),
        ({"error": {"code": "context_length_exceeded"}}, "context-window"),
        ({"error": {"code": "content_filter"}}, "content-policy"),
        ({"error": {"code": "insufficient_quota"}}, "quota"),
        ({"response": {"error": {"code": "server_error"}}}, "transient"),
        ({"response": {"error": {"code": "rate_limit_exceeded"}}}, "rate-limited"),
        ({"error": "something"}, "transient"),
        ({"error": {"code": 401}}, "unauthorized"),
        (None, "transient"),
    ],
)
def test_an_error_inside_a_good_answer_is_classed_by_its_own_code(document, failure):
    assert ended(Ending.ERROR_INSIDE, 200, document).failure == failure


def test_headers_of_a_good_answer_are_no_hint_for_the_error_inside_it():
    headers = {"x-ratelimit-reset-tokens": "6m0s", "retry-after": "9"}
    document = {"error": {"code": 429}}
    assert ended(Ending.ERROR_INSIDE, 200, document, headers=headers).hint_s is None


def test_resets_sent_with_a_server_error_are_a_hint_only_for_an_empty_budget():
    headers = {"x-ratelimit-reset-tokens": "6m0s", "x-ratelimit-remaining-tokens": "10"}
    assert ended(Ending.ANSWERED, 500, headers=headers).hint_s is None
    assert ended(Ending.ANSWERED, 429, headers=headers).hint_s == 360
    headers["x-ratelimit-remaining-tokens"] = "0"
    assert ended(Ending.ANSWERED, 500, headers=headers).hint_s == 360


@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_is_read_from_every_answer_that_may_be_retried(status):
    assert ended(Ending.ANSWERED, status, headers={"Retry-After": "6"}).hint_s == 6


def test_the_policys_rules_go_first_and_every_condition_must_hold():
    rules = (
        ClassifyRule("quota", status=429, contains="Daily limit"),
        ClassifyRule("caller", code="RATE_LIMIT_EXCEEDED", status=400),
        ClassifyRule("no-such-class", status=429),
        ClassifyRule("transient", status=409),
    )

    def by_rules(status: int, text: str = "", document: object = None):
        facts = AttemptFacts(Ending.ANSWERED, status, text=text, document=document)
        return classify(facts, rules, now=NOW).failure

    assert by_rules(429, "your DAILY LIMIT is over") == "quota"
    assert by_rules(429, "slow down") == "rate-limited"
    assert by_rules(400, document={"error": {"code": "rate_limit_exceeded"}}) == "caller"
    assert by_rules(409) == "transient"


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.one_of(
                st.sampled_from(["error", "code", "type", "details", "innererror", "message"]),
                st.text(max_size=3),
            ),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=12,
)


@given(
    st.sampled_from(list(Ending)),
    st.one_of(st.none(), st.integers()),
    st.dictionaries(st.text(), st.text(), max_size=4),
    json_values,
    st.text(),
    st.booleans(),
)
def test_whatever_comes_it_never_raises_and_the_evidence_is_consistent(
    ending, status, headers, document, text, visible
):
    found = classify(AttemptFacts(ending, status, headers, document, text, "", visible), now=NOW)
    assert (found.failure is None) == (ending is Ending.SUCCESS)
    assert not (found.retriable and visible)
    assert found.hint_s is None or found.hint_s > 0
    if found.retriable and found.dispatch is Dispatch.REJECTED:
        assert found.failure == "rate-limited"


def test_an_aws_error_names_its_code_in_a_header() -> None:
    headers = {"X-Amzn-ErrorType": "ThrottlingException:http://internal.amazon.invalid/"}
    found = ended(Ending.ANSWERED, 400, {"message": "slow"}, headers=headers)
    assert found.failure == "rate-limited"
