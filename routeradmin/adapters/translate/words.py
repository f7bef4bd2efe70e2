"""What both directions share: the two refusals, stop reasons, usage, frames of a stream."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection
from typing import Any

import orjson

from routeradmin.adapters import json_text

Json = dict[str, Any]

# Ends that cut an answer short: a tool call that was being written then is no whole one.
_MESSAGES_CUT = {
    "length": "max_tokens",
    "model_length": "model_context_window_exceeded",
    "content_filter": "refusal",
}
_CHAT_CUT = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}


class Untranslatable(Exception):
    """The request asks for something the other dialect cannot express. `reason` names it in a few
    words and holds no value of the request."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class BadAnswer(Exception):
    """The upstream's answer is not what its dialect promises; a protocol failure."""


def why_not(translate: Callable[[Json], Json], body: Json) -> str | None:
    """The reason why `translate` (request_to_messages, say) refuses the request, or None."""
    try:
        translate(body)
    except Untranslatable as refused:
        return refused.reason
    return None


def refuse_unknown(given: Json, known: Collection[str], where: str) -> None:
    """Raises Untranslatable for a field, not null, that has no counterpart."""
    for name, value in given.items():
        if value is not None and name not in known:
            shown = name if len(name) <= 40 and name.isidentifier() else "an unknown field"
            raise Untranslatable(f"{where}: {shown}")


def output_bound(body: Json, *names: str) -> int | None:
    """The first stated bound on the output; below 0 stands for none, as at local servers.

    Raises Untranslatable for 0, which fills the prompt cache in one dialect, and in the other is
    undefined, or fills another cache.
    """
    stated = (body[name] for name in names if body.get(name) is not None and body[name] >= 0)
    bound: int | None = next(stated, None)
    if bound == 0:
        raise Untranslatable("output of no tokens")
    return bound


def usage_to_chat(usage: Any) -> Json | None:
    """Token figures; what the upstream did not report stays out."""
    given, written = _count(usage, "input_tokens"), _count(usage, "output_tokens")
    if given is None and written is None:
        return None
    read = _count(usage, "cache_read_input_tokens")
    prompt = (given or 0) + (read or 0) + (_count(usage, "cache_creation_input_tokens") or 0)
    result: Json = {
        "prompt_tokens": prompt,
        "completion_tokens": written or 0,
        "total_tokens": prompt + (written or 0),
    }
    if read is not None:
        result["prompt_tokens_details"] = {"cached_tokens": read}
    return result


def usage_to_messages(usage: Any) -> Json:
    """The messages dialect always has both figures; 0 stands for an unknown one there."""
    details = usage.get("prompt_tokens_details") if isinstance(usage, dict) else None
    cached = _count(details, "cached_tokens")
    result = {
        "input_tokens": max(0, (_count(usage, "prompt_tokens") or 0) - (cached or 0)),
        "output_tokens": _count(usage, "completion_tokens") or 0,
    }
    if cached is not None:
        result["cache_read_input_tokens"] = cached
    return result


def _count(figures: Any, name: str) -> int | None:
    """What is no figure was not reported: an answer is not lost for its bookkeeping."""
    value = figures.get(name) if isinstance(figures, dict) else None
    is_count = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return value if is_count else None


def is_cut(finish: str | None) -> bool:
    """Whether a chat completion that ends like this may end anywhere."""
    return finish in _MESSAGES_CUT


def stop_reason(finish: str | None, *, has_calls: bool) -> str:
    """A finish reason in the words of messages, whose clients run tools on "tool_use" alone.

    The calls decide, for the word does not: a forced function ends with "stop" at OpenAI and
    vLLM, any function at some other servers.
    """
    return _MESSAGES_CUT.get(finish or "") or ("tool_use" if has_calls else "end_turn")


def finish_reason(stop: str | None, *, has_calls: bool) -> str:
    """A stop reason in the words of chat completions."""
    return _CHAT_CUT.get(stop or "") or ("tool_calls" if has_calls else "stop")


def call_id(given: str | None, answer_id: str, number: int) -> str:
    """The id of a tool call; one is made where the server gives none, since the client has to
    name its result by it. The same call has the same id in a stream and in a plain answer.

    OpenAI takes ids of up to 40 characters, and the answer's own may be of any length.
    """
    if given:
        return given
    named = f"{number} {answer_id}".encode(errors="surrogatepass")
    return f"call_{hashlib.sha256(named).hexdigest()[:32]}"


def tool_input(arguments: Any) -> Json:
    """A tool call's arguments as an object. Servers also write nothing for none, or the object
    itself. Raises ValueError where they are no object."""
    text = arguments_text(arguments)
    value = json_text.loads(text) if text.strip() else {}
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ValueError("tool arguments are not an object")
    return value


def arguments_text(arguments: Any) -> str:
    if arguments is None:
        return ""
    return arguments if isinstance(arguments, str) else orjson.dumps(arguments).decode()


def chat_frame(chunk: Json) -> bytes:
    return b"data: " + orjson.dumps(chunk) + b"\n\n"


def messages_frame(event: Json) -> bytes:
    """The event's type is its name as well."""
    return b"event: %s\ndata: %s\n\n" % (str(event["type"]).encode(), orjson.dumps(event))
