"""Whole answers: what they report, and whether they are what their protocol promises."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from routeradmin.engine.outcome import AttemptFacts, Ending
from routeradmin.services import answers
from routeradmin.services.answers import Redact

COUNT_TOKENS = "count_tokens"


def judge(
    operation: str, status: int, headers: Mapping[str, str], body: bytes, redact: Redact
) -> tuple[AttemptFacts, Any]:
    """The facts of a whole answer and its document, None where it is no JSON.

    ``operation`` is a protocol, or ``count_tokens``.
    """
    if 200 <= status < 300:
        document = answers.as_json(body)
        is_answer = isinstance(document, dict) and not answers.error_in(document)
        if is_answer and _is_whole(operation, document):
            return AttemptFacts(Ending.SUCCESS, status, headers), document
    protocol = None if operation == COUNT_TOKENS else operation
    facts = answers.of_answer(status, headers, body, protocol, redact)
    if facts.ending is Ending.SUCCESS:
        message = "the upstream answered 200 with something else than a token count"
        facts = AttemptFacts(Ending.MALFORMED, status, headers, message=message)
    return facts, facts.document


def _is_whole(operation: str, document: dict[str, Any]) -> bool:
    if operation == COUNT_TOKENS:
        return isinstance(document.get("input_tokens"), int)
    return answers.is_whole(document, operation)
