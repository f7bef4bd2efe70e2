"""A chat-completions request as an Anthropic messages request."""

from __future__ import annotations

from typing import Any

from routeradmin.adapters.translate.chat_history import history_to_messages
from routeradmin.adapters.translate.words import Json, Untranslatable, output_bound, refuse_unknown

DEFAULT_MAX_TOKENS = 4096

# Translated, or without effect on the answer.
_KNOWN = {
    *("model", "messages", "max_tokens", "max_completion_tokens", "temperature", "top_p", "stop"),
    *("stream", "stream_options", "tools", "tool_choice", "parallel_tool_calls", "user"),
    *("safety_identifier", "metadata", "prompt_cache_key", "prompt_cache_retention"),
}
# Fine at these values, untranslatable at others.
_NEUTRAL: dict[str, tuple[Any, ...]] = {
    "n": (1,),
    "store": (False,),
    "logprobs": (False,),
    "top_logprobs": (0,),
    "logit_bias": ({},),
    "frequency_penalty": (0,),
    "presence_penalty": (0,),
    "modalities": (["text"],),
    "response_format": ({"type": "text"},),
    "service_tier": ("auto", "default"),
}
_CHOICES = {"auto": "auto", "none": "none", "required": "any"}


def request_to_messages(body: Json, *, default_max_tokens: int = DEFAULT_MAX_TOKENS) -> Json:
    """The request in the other dialect; `model` is kept for the caller to replace.

    The messages dialect demands a bound on the output: `default_max_tokens` (the deployment's own
    bound, best) stands in where the request has none. Raises Untranslatable.
    """
    try:
        return _request(body, default_max_tokens)
    except (KeyError, TypeError, AttributeError, IndexError) as problem:
        # The body comes from a client unchecked; any of these is a part of the wrong shape.
        raise Untranslatable("request of an unexpected shape") from problem


def _request(body: Json, default_max_tokens: int) -> Json:
    named = {k: v for k, v in body.items() if k not in _NEUTRAL or v not in _NEUTRAL[k]}
    refuse_unknown(named, _KNOWN, "request field")
    system, messages = history_to_messages(body["messages"])
    bound = output_bound(body, "max_completion_tokens", "max_tokens")
    result: Json = {"model": body.get("model"), "max_tokens": bound or default_max_tokens}
    result["messages"] = messages
    if system:
        result["system"] = system
    result |= _sampling(body) | _tools(body)
    user = body.get("user") or body.get("safety_identifier")
    if user:
        result["metadata"] = {"user_id": user}
    if body.get("stream"):
        result["stream"] = True
    return result


def _sampling(body: Json) -> Json:
    result: Json = {}
    if (temperature := body.get("temperature")) is not None:
        if temperature > 1:
            raise Untranslatable("temperature above 1")
        result["temperature"] = temperature
    if (top_p := body.get("top_p")) is not None:
        result["top_p"] = top_p
    if stop := body.get("stop"):
        sequences = [stop] if isinstance(stop, str) else stop
        if not all(sequence.strip() for sequence in sequences):
            raise Untranslatable("stop sequence of white space only")
        result["stop_sequences"] = sequences
    return result


def _tools(body: Json) -> Json:
    tools = body.get("tools")
    choice = body.get("tool_choice")
    if not tools:
        if choice not in (None, "auto", "none"):
            raise Untranslatable("tool_choice without tools")
        return {}
    result: Json = {"tools": [_tool(tool) for tool in tools]}
    if (chosen := _choice(choice, body.get("parallel_tool_calls"))) is not None:
        result["tool_choice"] = chosen
    return result


def _tool(tool: Json) -> Json:
    if tool["type"] != "function":
        raise Untranslatable("tool that is not a function")
    function = tool["function"]
    refuse_unknown(function, {"name", "description", "parameters", "strict"}, "tool field")
    if function.get("strict"):
        raise Untranslatable("strict tool schema")
    result = {"name": function["name"]}
    if function.get("description"):
        result["description"] = function["description"]
    schema = function.get("parameters") or {"type": "object", "properties": {}}
    return {**result, "input_schema": schema}


def _choice(choice: Any, parallel: bool | None) -> Json | None:
    chosen: Json | None = None
    if isinstance(choice, str):
        if choice not in _CHOICES:
            raise Untranslatable("tool_choice of an unknown kind")
        chosen = {"type": _CHOICES[choice]}
    elif choice is not None:
        if choice["type"] != "function":
            raise Untranslatable("tool_choice of an unknown kind")
        chosen = {"type": "tool", "name": choice["function"]["name"]}
    if parallel is False:
        chosen = chosen or {"type": "auto"}
        if chosen["type"] != "none":
            chosen["disable_parallel_tool_use"] = True
    return chosen
