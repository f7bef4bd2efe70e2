"""Reports of attempts that callers made themselves."""

from __future__ import annotations

import pytest

from routeradmin.engine.policy import ClassifyRule
from routeradmin.engine.report import ReportFacts, from_report
from routeradmin.engine.state import Dispatch, FailureClass

NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("outcome", "status", "error_class", "failure"),
    [
        ("success", None, None, None),
        ("success", 200, None, None),
        ("success", 429, None, "rate-limited"),
        ("success", 429, "quota", "quota"),
        ("failure", None, None, "transient"),
        ("failure", 200, None, "transient"),
        ("failure", 404, None, "not-found"),
        ("failure", 400, "context-window", "context-window"),
        ("cancelled", None, None, "cancelled"),
        ("cancelled", 200, None, "cancelled"),
        ("cancelled", 500, None, "transient"),
    ],
)
def test_the_class_counts_before_the_status_and_the_status_before_the_outcome(
    outcome, status, error_class, failure
):
    told = ReportFacts(outcome, status, FailureClass(error_class) if error_class else None)
    assert from_report(told, now=NOW).failure == failure


@pytest.mark.parametrize(
    ("status", "dispatch", "counted", "retriable"),
    [
        (None, None, "unknown", True),
        (500, None, "unknown", True),
        (200, None, "accepted", True),
        (500, "rejected", "rejected", False),
        (None, "rejected", "rejected", False),
        (None, "not-sent", "not-sent", True),
        (429, None, "rejected", True),
        (402, None, "rejected", False),
        (401, None, "rejected", False),
        (400, None, "rejected", False),
    ],
)
def test_a_missing_dispatch_takes_the_tables_value(status, dispatch, counted, retriable):
    told = ReportFacts("failure", status, dispatch=Dispatch(dispatch) if dispatch else None)
    found = from_report(told, now=NOW)
    assert (found.dispatch, found.retriable) == (counted, retriable)


def test_an_unknown_end_is_not_replayed_where_the_policy_says_so():
    assert not from_report(ReportFacts("failure"), now=NOW, replay_unanswered=False).retriable
    told = ReportFacts("failure", 503)
    assert from_report(told, now=NOW, replay_unanswered=False).retriable


def test_visible_output_makes_a_failure_final():
    found = from_report(ReportFacts("failure", 500, visible_output=True), now=NOW)
    assert (found.retriable, found.visible_output) == (False, True)


@pytest.mark.parametrize(("value", "hint_s"), [("20", 20), (20, 20), ("0", None), ("soon", None)])
def test_retry_after_is_the_hint_of_a_failure_that_may_wait(value, hint_s):
    assert from_report(ReportFacts("failure", 429, retry_after=value), now=NOW).hint_s == hint_s
    assert from_report(ReportFacts("failure", 400, retry_after=value), now=NOW).hint_s is None


def test_the_policys_rules_judge_a_reported_status():
    rules = (ClassifyRule("content-policy", status=400, contains="flagged"),)
    told = ReportFacts("failure", 400, message="Your input was FLAGGED.")
    assert from_report(told, rules, now=NOW).failure == "content-policy"
