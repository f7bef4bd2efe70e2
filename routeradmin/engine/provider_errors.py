"""Known error codes and phrases of providers, as tables: data, not code.

A code or phrase counts only beside the statuses its table allows, for the same word can mean
little beside another status. ``None`` stands for an error inside a 2xx answer or a stream.
"""

from __future__ import annotations

from routeradmin.engine.error_body import ErrorBody
from routeradmin.engine.state import FailureClass

_QUOTA = FailureClass.QUOTA
_POLICY = FailureClass.CONTENT_POLICY
_WINDOW = FailureClass.CONTEXT_WINDOW
_RATE = FailureClass.RATE_LIMITED
_KEY = FailureClass.UNAUTHORIZED
_GONE = FailureClass.NOT_FOUND
_TRANSIENT = FailureClass.TRANSIENT

CODES: dict[str, FailureClass] = {
    # The account has no money or no allowance left.
    "insufficient_quota": _QUOTA,
    "insufficient_credits": _QUOTA,
    "insufficient_balance": _QUOTA,
    "insufficient_user_quota": _QUOTA,
    "insufficient balance": _QUOTA,
    "billing_hard_limit_reached": _QUOTA,
    "billing_limit_reached": _QUOTA,
    "billing_not_active": _QUOTA,
    "billing_error": _QUOTA,
    "billing_disabled": _QUOTA,
    "credit_balance_too_low": _QUOTA,
    "credit_limit_reached": _QUOTA,
    "payment_required": _QUOTA,
    "spend_limit_reached": _QUOTA,
    "spend_limit_exceeded": _QUOTA,
    "budget_exceeded": _QUOTA,
    "arrearage": _QUOTA,
    "servicequotaexceededexception": _QUOTA,
    # The prompt or the answer was refused for what it says.
    "content_policy_violation": _POLICY,
    "content_policy": _POLICY,
    "content_filter": _POLICY,
    "content_filter_error": _POLICY,
    "content_filtered": _POLICY,
    "content_moderation": _POLICY,
    "responsibleaipolicyviolation": _POLICY,
    "moderation_blocked": _POLICY,
    "moderation_error": _POLICY,
    "invalid_prompt": _POLICY,
    "prohibited_content": _POLICY,
    "safety_violation": _POLICY,
    "safety_check_failed": _POLICY,
    "cyber_policy_violation": _POLICY,
    "bio_policy": _POLICY,
    "data_inspection_failed": _POLICY,
    "datainspectionfailed": _POLICY,
    "guardrail_intervened": _POLICY,
    # The prompt does not fit.
    "context_length_exceeded": _WINDOW,
    "context_window_exceeded": _WINDOW,
    "context_length_error": _WINDOW,
    "contextlengthexceeded": _WINDOW,
    "exceed_context_size_error": _WINDOW,
    "model_context_window_exceeded": _WINDOW,
    "prompt_too_long": _WINDOW,
    "string_above_max_length": _WINDOW,
    "too_many_tokens": _WINDOW,
    # Too fast.
    "rate_limit_exceeded": _RATE,
    "rate_limit_error": _RATE,
    "rate_limited": _RATE,
    "ratelimiterror": _RATE,
    "ratelimitreached": _RATE,
    "rate_limit_reached_error": _RATE,
    "too_many_requests": _RATE,
    "toomanyrequests": _RATE,
    "resource_exhausted": _RATE,
    "throttling": _RATE,
    "throttlingexception": _RATE,
    "toomanyrequestsexception": _RATE,
    "throttling.ratequota": _RATE,
    # The credential is not accepted.
    "invalid_api_key": _KEY,
    "api_key_invalid": _KEY,
    "incorrect_api_key": _KEY,
    "authentication_error": _KEY,
    "invalid_authentication": _KEY,
    "invalid_authentication_error": _KEY,
    "permission_error": _KEY,
    "permission_denied": _KEY,
    "unauthenticated": _KEY,
    "unauthorized": _KEY,
    "account_deactivated": _KEY,
    "accessdeniedexception": _KEY,
    "unrecognizedclientexception": _KEY,
    "expiredtokenexception": _KEY,
    "invalidsignatureexception": _KEY,
    "token_expired": _KEY,
    # The model is not there.
    "model_not_found": _GONE,
    "not_found_error": _GONE,
    "not_found": _GONE,
    "deploymentnotfound": _GONE,
    "resourcenotfoundexception": _GONE,
    "model_not_exist": _GONE,
    "unknown_model": _GONE,
    "model_decommissioned": _GONE,
    # The provider is in trouble.
    "overloaded_error": _TRANSIENT,
    "overloaded": _TRANSIENT,
    "capacity_exceeded": _TRANSIENT,
    "engine_overloaded_error": _TRANSIENT,
    "engine_overloaded": _TRANSIENT,
    "model_overloaded": _TRANSIENT,
    "server_error": _TRANSIENT,
    "server_overloaded": _TRANSIENT,
    "internal_server_error": _TRANSIENT,
    "internal_error": _TRANSIENT,
    "internal": _TRANSIENT,
    "internalservererror": _TRANSIENT,
    "internalserverexception": _TRANSIENT,
    "api_error": _TRANSIENT,
    "timeout_error": _TRANSIENT,
    "request_timeout": _TRANSIENT,
    "deadline_exceeded": _TRANSIENT,
    "unavailable": _TRANSIENT,
    "service_unavailable": _TRANSIENT,
    "serviceunavailable": _TRANSIENT,
    "serviceunavailableexception": _TRANSIENT,
    "modeltimeoutexception": _TRANSIENT,
    "modelerrorexception": _TRANSIENT,
    "modelstreamerrorexception": _TRANSIENT,
    "modelnotreadyexception": _TRANSIENT,
}

# Phrases of providers that give such an error no code of its own, in lower case.
PHRASES: tuple[tuple[str, FailureClass], ...] = (
    ("credit balance is too low", _QUOTA),
    ("insufficient balance", _QUOTA),
    ("insufficient credits", _QUOTA),
    ("requires more credits", _QUOTA),
    ("key limit exceeded", _QUOTA),
    ("doesn't have any credits", _QUOTA),
    ("check your plan and billing details", _QUOTA),
    ("maximum context length", _WINDOW),
    ("prompt is too long", _WINDOW),
    ("exceed context limit", _WINDOW),
    ("exceeds the maximum number of tokens allowed", _WINDOW),
    ("input is too long for requested model", _WINDOW),
    ("exceeds the available context size", _WINDOW),
    ("reduce the length of the messages", _WINDOW),
    ("too large for model with", _WINDOW),
    ("`inputs` tokens + `max_new_tokens` must be", _WINDOW),
    ("blocked by content filtering policy", _POLICY),
    ("content management policy", _POLICY),
    ("flagged as potentially violating", _POLICY),
    ("requires moderation", _POLICY),
    ("content exists risk", _POLICY),
    ("api key not valid", _KEY),
)

_ANY = frozenset({None, *range(400, 600)})
_CALLERS = frozenset({None, *range(400, 500)}) - {401, 402, 404, 408, 429}
CODE_STATUSES: dict[FailureClass, frozenset[int | None]] = {
    _QUOTA: _ANY,
    _POLICY: _ANY - {401, 404, 429},
    _WINDOW: _ANY - {401, 404, 429},
    _RATE: _ANY - {401, 402, 403, 404},
    _KEY: _CALLERS,
    _GONE: _CALLERS - {403},
    _TRANSIENT: _CALLERS - {403},
}
PHRASE_STATUSES: dict[FailureClass, frozenset[int | None]] = {
    _QUOTA: frozenset({None, 400, 403, 429}),
    _POLICY: frozenset({None, 400, 403, 422}),
    _WINDOW: frozenset({None, 400, 413, 422}),
    _KEY: frozenset({None, 400}),
}


def known(body: ErrorBody, status: int | None) -> FailureClass | None:
    """The class that the error's own words give it beside this status, if they do."""
    for code in body.codes:
        found = CODES.get(code)
        if found is not None and status in CODE_STATUSES[found]:
            # Gemini words every rate limit as a quota: its code is clearer than its text.
            return found
    for phrase, found in PHRASES:
        if status in PHRASE_STATUSES[found] and phrase in body.text:
            return found
    return None
