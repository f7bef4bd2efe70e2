"""An Anthropic messages request as a chat-completions request."""

from __future__ import annotations

from typing import Any

from routeradmin.adapters.translate.messages_history import history_to_chat
from routeradmin.adapters.translate.words import Json, Untranslatable, output_bound, refuse_unknown

_KNOWN = {
    *("model", "messages", "system", "max_tokens", "temperature", "top_p", "stop_sequences"),
    *("stream", "tools", "tool_choice", "metadata", "cache_control"),
}
_MAX_STOPS = 4
_CHOICES = {"auto": "auto", "any": "required", "none": "none"}


def request_to_chat(body: Json, *, limit_field: str = "max_tokens") -> Json:
    """The request in the other dialect; `model` is kept for the caller to replace.

    `limit_field` is the name under which the deployment takes the bound on the output
    (`max_tokens`, or `max_completion_tokens`). Hints for caching are left out: they do not change
    the answer. Raises Untranslatable.
    """
    try:
        return _request(body, limit_field)
    except (KeyError, TypeError, AttributeError, IndexError) as problem:
        # The body comes from a client unchecked; any of these is a part of the wrong shape.
        raise Untranslatable("request of an unexpected shape") from problem


def _request(body: Json, limit_field: str) -> Json:
    named = dict(body)
    if (named.get("thinking") or {}).get("type") == "disabled":
        del named["thinking"]
    if named.get("service_tier") == "auto":
        del named["service_tier"]
    refuse_unknown(named, _KNOWN, "request field")
    messages = history_to_chat(body.get("system"), body["messages"])
    result: Json = {"model": body.get("model"), "messages": messages}
    if "max_tokens" not in body:
        raise Untranslatable("no max_tokens")
    if (bound := output_bound(body, "max_tokens")) is not None:
        result[limit_field] = bound
    for name in ("temperature", "top_p"):
        if body.get(name) is not None:
            result[name] = body[name]
    if stops := body.get("stop_sequences"):
        if len(stops) > _MAX_STOPS:
            raise Untranslatable(f"more than {_MAX_STOPS} stop sequences")
        result["stop"] = stops
    result |= _tools(body)
    if user := (body.get("metadata") or {}).get("user_id"):
        result["user"] = user
    if body.get("stream"):
        result |= {"stream": True, "stream_options": {"include_usage": True}}
    return result


def _tools(body: Json) -> Json:
    tools = body.get("tools")
    if not tools:
        return {}
    result: Json = {"tools": [_tool(tool) for tool in tools]}
    if choice := body.get("tool_choice"):
        result["tool_choice"] = _choice(choice)
        if choice.get("disable_parallel_tool_use"):
            result["parallel_tool_calls"] = False
    return result


def _tool(tool: Json) -> Json:
    if tool.get("type") not in (None, "custom"):
        raise Untranslatable("tool that the provider runs")
    known = {"type", "name", "description", "input_schema", "cache_control", "strict"}
    refuse_unknown(tool, known, "tool field")
    function = {"name": tool["name"], "parameters": tool["input_schema"]}
    for name in ("description", "strict"):
        if tool.get(name) is not None:
            function[name] = tool[name]
    return {"type": "function", "function": function}


def _choice(choice: Json) -> Any:
    if choice["type"] == "tool":
        return {"type": "function", "function": {"name": choice["name"]}}
    if choice["type"] not in _CHOICES:
        raise Untranslatable("tool_choice of an unknown kind")
    return _CHOICES[choice["type"]]
