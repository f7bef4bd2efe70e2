"""A pasted error judged as a policy would judge it: its class, and what would follow."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from django import forms

from routeradmin.console import wording
from routeradmin.engine.outcome import AttemptFacts, Ending, classify
from routeradmin.engine.policy import DEFAULT_POLICY, Policy
from routeradmin.engine.state import FailureClass, Outcome


class ErrorForm(forms.Form):
    """Sent by GET: nothing is changed by asking."""

    status = forms.IntegerField(label="Status", min_value=100, max_value=599)
    retry_after = forms.CharField(label="Retry-After", required=False, max_length=200)
    body = forms.CharField(
        label="Body",
        required=False,
        max_length=8000,
        widget=forms.Textarea(attrs={"rows": 4, "spellcheck": "false"}),
    )


@dataclass(frozen=True, slots=True)
class Verdict:
    outcome: Outcome
    words: tuple[str, ...]


def judge(given: dict[str, Any], policy: Policy | None, now: float) -> Verdict:
    """``given`` is the form's cleaned data, ``now`` epoch seconds for dates in hints."""
    rules = policy or DEFAULT_POLICY
    headers = {"retry-after": given["retry_after"]} if given["retry_after"] else {}
    facts = AttemptFacts(
        Ending.SUCCESS if 200 <= given["status"] < 300 else Ending.ANSWERED,
        status=given["status"],
        headers=headers,
        document=_parsed(given["body"]),
        text=given["body"],
    )
    outcome = classify(facts, rules.classify, now=now)
    return Verdict(outcome, tuple(_words(outcome, rules)))


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _words(outcome: Outcome, policy: Policy) -> list[str]:
    failure, rules = outcome.failure, policy.cooldown
    if failure is None:
        return ["This is no failure."]
    told = [_turn(outcome, policy)]
    if not rules.enabled:
        return [*told, "No cooldown: the policy has them switched off."]
    lengths = {
        FailureClass.QUOTA: rules.quota_s,
        FailureClass.UNAUTHORIZED: rules.unauthorized_s,
        FailureClass.NOT_FOUND: rules.not_found_s,
    }
    if failure in lengths:
        return [*told, f"The candidate cools for {wording.seconds(lengths[failure])}."]
    if failure is FailureClass.RATE_LIMITED:
        hint = outcome.hint_s if outcome.hint_s else rules.rate_limited_base_s
        length = min(hint, rules.rate_limited_cap_s)
        return [*told, f"The candidate cools for {wording.seconds(length)}."]
    if failure is FailureClass.TRANSIENT:
        cools = f"It cools after {rules.allowed_fails} of these in a row, first for "
        return [*told, cools + f"{wording.seconds(rules.transient_base_s)}."]
    return [*told, "It starts no cooldown."]


def _turn(outcome: Outcome, policy: Policy) -> str:
    if outcome.retriable:
        return "The turn goes on: other candidates of the tier first, then another round."
    if outcome.failure in (FailureClass.CONTENT_POLICY, FailureClass.CONTEXT_WINDOW):
        return f"Only the policy's own list for {outcome.failure} is tried next."
    moves_on = outcome.failure is FailureClass.UNAUTHORIZED and policy.turn.move_on_unauthorized
    if moves_on or outcome.failure is FailureClass.QUOTA:
        return "The turn goes on at once with the next candidate."
    return "The turn ends with this answer."
