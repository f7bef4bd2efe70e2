"""Error answers in the style of many providers, made by hand, each with the class it must get."""

from __future__ import annotations

from typing import Any, NamedTuple


class Case(NamedTuple):
    name: str
    status: int
    document: Any
    expected: str


def openai(code: str | int | None, type_: str, message: str = "No.") -> dict[str, Any]:
    return {"error": {"message": message, "type": type_, "param": None, "code": code}}


def anthropic(type_: str, message: str = "No.") -> dict[str, Any]:
    return {"type": "error", "error": {"type": type_, "message": message}}


def google(
    code: int, status: str, message: str = "No.", *details: dict[str, str]
) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "status": status, "details": list(details)}}


CASES = [
    # OpenAI
    Case("openai rate limit", 429, openai("rate_limit_exceeded", "requests"), "rate-limited"),
    Case("openai tokens", 429, openai("rate_limit_exceeded", "tokens"), "rate-limited"),
    Case("openai quota", 429, openai("insufficient_quota", "insufficient_quota"), "quota"),
    Case("openai hard limit", 400, openai("billing_hard_limit_reached", "x"), "quota"),
    Case("openai not active", 429, openai("billing_not_active", "x"), "quota"),
    Case("openai bad key", 401, openai("invalid_api_key", "invalid_request_error"), "unauthorized"),
    Case("openai region", 403, openai("unsupported_country_region_territory", "x"), "unauthorized"),
    Case("openai no model", 404, openai("model_not_found", "invalid_request_error"), "not-found"),
    Case(
        "openai context",
        400,
        openai("context_length_exceeded", "invalid_request_error"),
        "context-window",
    ),
    Case("openai too long", 400, openai("string_above_max_length", "x"), "context-window"),
    Case("openai policy", 400, openai("content_policy_violation", "x"), "content-policy"),
    Case("openai flagged prompt", 400, openai("invalid_prompt", "x"), "content-policy"),
    Case("openai bad value", 400, openai("invalid_value", "invalid_request_error"), "caller"),
    Case("openai null code", 400, openai(None, "invalid_request_error"), "caller"),
    Case("openai conflict", 409, openai(None, "conflict"), "caller"),
    Case("openai unprocessable", 422, openai(None, "invalid_request_error"), "caller"),
    Case("openai server", 500, openai(None, "server_error"), "transient"),
    Case("openai overloaded", 503, openai(None, "service_unavailable_error"), "transient"),
    # Azure OpenAI
    Case(
        "azure filter",
        400,
        {
            "error": {
                "code": "BadRequest",
                "message": "x",
                "innererror": {"code": "ResponsibleAIPolicyViolation"},
            }
        },
        "content-policy",
    ),
    Case("azure filter code", 400, openai("content_filter", "x"), "content-policy"),
    Case("azure rate limit", 429, {"error": {"code": "429", "message": "x"}}, "rate-limited"),
    Case("azure no deployment", 404, {"error": {"code": "DeploymentNotFound"}}, "not-found"),
    Case("azure key", 401, {"error": {"code": "401", "message": "x"}}, "unauthorized"),
    Case("azure gateway", 429, {"statusCode": 429, "message": "Rate limit"}, "rate-limited"),
    # Anthropic
    Case("anthropic rate limit", 429, anthropic("rate_limit_error"), "rate-limited"),
    Case("anthropic overloaded", 529, anthropic("overloaded_error"), "transient"),
    Case("anthropic api error", 500, anthropic("api_error"), "transient"),
    Case("anthropic key", 401, anthropic("authentication_error"), "unauthorized"),
    Case("anthropic permission", 403, anthropic("permission_error"), "unauthorized"),
    Case("anthropic not found", 404, anthropic("not_found_error"), "not-found"),
    Case("anthropic too large", 413, anthropic("request_too_large"), "caller"),
    Case("anthropic billing", 402, anthropic("billing_error"), "quota"),
    Case(
        "anthropic no credit",
        400,
        anthropic("invalid_request_error", "Your credit balance is too low to access the API."),
        "quota",
    ),
    Case(
        "anthropic long prompt",
        400,
        anthropic("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
        "context-window",
    ),
    Case(
        "anthropic input and output",
        400,
        anthropic("invalid_request_error", "input length and `max_tokens` exceed context limit"),
        "context-window",
    ),
    Case(
        "anthropic filter",
        400,
        anthropic("invalid_request_error", "Output blocked by content filtering policy"),
        "content-policy",
    ),
    Case("anthropic invalid", 400, anthropic("invalid_request_error"), "caller"),
    # Gemini and Vertex
    Case(
        "gemini per minute",
        429,
        google(429, "RESOURCE_EXHAUSTED", "Please check your plan and billing details."),
        "rate-limited",
    ),
    Case("gemini in a list", 429, [google(429, "RESOURCE_EXHAUSTED")], "rate-limited"),
    Case(
        "gemini key",
        400,
        google(400, "INVALID_ARGUMENT", "API key not valid.", {"reason": "API_KEY_INVALID"}),
        "unauthorized",
    ),
    Case("gemini permission", 403, google(403, "PERMISSION_DENIED"), "unauthorized"),
    Case("gemini no model", 404, google(404, "NOT_FOUND"), "not-found"),
    Case("gemini overloaded", 503, google(503, "UNAVAILABLE"), "transient"),
    Case("gemini internal", 500, google(500, "INTERNAL"), "transient"),
    Case("gemini deadline", 504, google(504, "DEADLINE_EXCEEDED"), "transient"),
    Case(
        "gemini too long",
        400,
        google(
            400,
            "INVALID_ARGUMENT",
            "The input token count (1200000) exceeds the maximum number of tokens allowed (10).",
        ),
        "context-window",
    ),
    Case("gemini invalid", 400, google(400, "INVALID_ARGUMENT"), "caller"),
    # Groq, OpenRouter, Mistral, DeepSeek, xAI
    Case("groq rate limit", 429, openai("rate_limit_exceeded", "tokens"), "rate-limited"),
    Case("groq big request", 413, openai("rate_limit_exceeded", "tokens"), "rate-limited"),
    Case(
        "groq length",
        400,
        openai(None, "invalid_request_error", "Please reduce the length of the messages."),
        "context-window",
    ),
    Case("groq retired", 400, openai("model_decommissioned", "x"), "not-found"),
    Case("groq capacity", 498, openai("capacity_exceeded", "x"), "transient"),
    Case("openrouter rate limit", 429, openai(429, ""), "rate-limited"),
    Case("openrouter no credits", 402, openai(402, "", "Insufficient credits"), "quota"),
    Case("openrouter key limit", 403, openai(403, "", "Key limit exceeded"), "quota"),
    Case(
        "openrouter moderation",
        403,
        openai(403, "", "m requires moderation on P. Your input was flagged."),
        "content-policy",
    ),
    Case("openrouter upstream", 502, openai(502, "", "Provider returned error"), "transient"),
    Case(
        "openrouter context",
        400,
        openai(400, "", "This endpoint's maximum context length is 8192 tokens."),
        "context-window",
    ),
    Case("mistral rate limit", 429, {"object": "error", "code": "1300"}, "rate-limited"),
    Case("mistral plain", 401, {"message": "Unauthorized"}, "unauthorized"),
    Case(
        "mistral context",
        400,
        {"object": "error", "message": "Prompt has 40 tokens, too large for model with 32 max"},
        "context-window",
    ),
    Case("mistral detail", 422, {"detail": [{"loc": ["body"], "msg": "x"}]}, "caller"),
    Case("deepseek balance", 402, openai("invalid_request_error", "x"), "quota"),
    Case("deepseek risk", 400, openai("x", "y", "Content Exists Risk"), "content-policy"),
    Case("moonshot overloaded", 429, openai(None, "engine_overloaded_error"), "rate-limited"),
    Case("xai credits", 403, {"code": "x", "error": "Your team doesn't have any credits"}, "quota"),
    Case("dashscope inspection", 400, {"code": "DataInspectionFailed"}, "content-policy"),
    Case("dashscope throttling", 429, {"code": "Throttling.RateQuota"}, "rate-limited"),
    # Local servers
    Case("ollama no model", 404, {"error": "model 'x' not found"}, "not-found"),
    Case("ollama busy", 503, {"error": "server busy, please try again"}, "transient"),
    Case("ollama bad", 400, {"error": "invalid options"}, "caller"),
    Case(
        "vllm context",
        400,
        {"object": "error", "message": "This model's maximum context length is 4096 tokens."},
        "context-window",
    ),
    Case("vllm no model", 404, {"object": "error", "type": "NotFoundError"}, "not-found"),
    Case(
        "llama.cpp context",
        400,
        {"error": {"code": 400, "type": "exceed_context_size_error", "message": "x"}},
        "context-window",
    ),
    Case("llama.cpp loading", 503, {"error": {"code": 503, "message": "Loading"}}, "transient"),
    # Bedrock
    Case("bedrock throttling", 429, {"__type": "a.b#ThrottlingException"}, "rate-limited"),
    Case("bedrock throttling 400", 400, {"__type": "ThrottlingException"}, "rate-limited"),
    Case("bedrock quota", 400, {"__type": "ServiceQuotaExceededException"}, "quota"),
    Case("bedrock denied", 403, {"__type": "AccessDeniedException"}, "unauthorized"),
    Case("bedrock bad token", 400, {"__type": "UnrecognizedClientException"}, "unauthorized"),
    Case("bedrock not ready", 429, {"__type": "ModelNotReadyException"}, "rate-limited"),
    Case("bedrock model error", 424, {"__type": "ModelErrorException"}, "transient"),
    Case("bedrock timeout", 408, {"__type": "ModelTimeoutException"}, "transient"),
    Case(
        "bedrock too long",
        400,
        {"__type": "ValidationException", "message": "Input is too long for requested model."},
        "context-window",
    ),
    # Anything
    Case("redirect", 302, None, "refused"),
    Case("html gateway page", 502, None, "transient"),
    Case("cloudflare", 520, None, "transient"),
    Case("timeout", 408, None, "transient"),
    Case("teapot", 418, None, "caller"),
    Case("payment", 402, None, "quota"),
    Case("strange status", 999, None, "transient"),
    Case("error as a number", 400, {"error": 5}, "caller"),
]
