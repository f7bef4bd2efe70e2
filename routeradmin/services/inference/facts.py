"""What a request asks for, read from its body: enough to choose a deployment, nothing more.

Only fields that routing goes by are checked; all others are the upstream's business.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import orjson

from routeradmin.services.inference import counting
from routeradmin.services.inference.counting import MOST, Text

CHAT, COMPLETIONS, EMBEDDINGS = "chat-completions", "completions", "embeddings"
RESPONSES, MESSAGES = "responses", "messages"
APIS = (CHAT, COMPLETIONS, EMBEDDINGS, RESPONSES, MESSAGES)


Json = dict[str, Any]


class Invalid(Exception):
    """A field that routing goes by is missing or of the wrong type; ``param`` is its name."""

    def __init__(self, param: str, expected: str) -> None:
        super().__init__(f"{param!r} must be {expected}.")
        self.param = param


@dataclass(slots=True)
class Facts:
    """``input_tokens`` is an upper bound, None where there is none. ``choices``: answers asked
    for. ``usage_wanted``: the client itself asked for the usage chunk of a stream. Nobody changes
    them (see ``SelectRequest``)."""

    model: str
    stream: bool = False
    input_tokens: int | None = None
    max_output_tokens: int | None = None
    requires: frozenset[str] = frozenset()
    tool_choice: str | None = None
    temperature: float | None = None
    top_p: float | None = None
    reasoning_effort: str | None = None
    choices: int = 1
    usage_wanted: bool = False


def read(api: str, body: Json) -> Facts:
    """The facts of a body of this protocol. Raises Invalid."""
    model = body.get("model")
    if not isinstance(model, str) or not model.strip():
        raise Invalid("model", "the name of a model, as GET /v1/models lists them")
    try:
        return _READERS[api](model, body)
    except orjson.JSONEncodeError:  # deeper than JSON can be written: it can be read deeper
        raise Invalid("body", "nested less than 250 levels deep") from None


def _chat(model: str, body: Json) -> Facts:
    messages = _list(body, "messages")
    text = Text()
    counting.chat(text, messages)
    tools = body.get("tools") or body.get("functions")
    _tools(text, tools)
    shape = body.get("response_format")
    _shape(text, shape.get("type") if isinstance(shape, dict) else None, shape)
    modalities = body.get("modalities")
    if isinstance(modalities, list) and "audio" in modalities:
        text.needs.add(counting.AUDIO)
    options = body.get("stream_options")
    return Facts(
        model,
        _flag(body, "stream"),
        text.bound,
        _count(body, "max_completion_tokens", "max_tokens"),
        frozenset(text.needs),
        _choice(body.get("tool_choice") if "tool_choice" in body else body.get("function_call")),
        _number(body, "temperature"),
        _number(body, "top_p"),
        _text(body, "reasoning_effort"),
        _count(body, "n") or 1,
        isinstance(options, dict) and options.get("include_usage") is True,
    )


def _completions(model: str, body: Json) -> Facts:
    text = Text()
    prompt = body.get("prompt", "")
    counting.prompt(text, prompt)
    text.add(body.get("suffix"))
    options = body.get("stream_options")
    prompts = len(prompt) if isinstance(prompt, list) and not _all_numbers(prompt) else 1
    return Facts(
        model,
        _flag(body, "stream"),
        text.bound,
        _count(body, "max_tokens"),
        temperature=_number(body, "temperature"),
        top_p=_number(body, "top_p"),
        choices=(_count(body, "n") or 1) * max(1, prompts),
        usage_wanted=isinstance(options, dict) and options.get("include_usage") is True,
    )


def _embeddings(model: str, body: Json) -> Facts:
    if body.get("input") is None:
        raise Invalid("input", "the text to embed, or a list of texts")
    text = Text()
    counting.prompt(text, body["input"])
    return Facts(model, False, text.bound, requires=frozenset({"embeddings"}))


def _responses(model: str, body: Json) -> Facts:
    text = Text()
    counting.responses(text, body.get("input"))
    text.add(body.get("instructions"))
    if any(body.get(name) is not None for name in ("previous_response_id", "conversation")):
        text.opaque()
    if body.get("prompt") is not None:
        text.opaque()
    _tools(text, body.get("tools"))
    form = body.get("text")
    shape = form.get("format") if isinstance(form, dict) else None
    _shape(text, shape.get("type") if isinstance(shape, dict) else None, shape)
    reasoning = body.get("reasoning")
    return Facts(
        model,
        _flag(body, "stream"),
        text.bound,
        _count(body, "max_output_tokens"),
        frozenset(text.needs),
        _choice(body.get("tool_choice")),
        _number(body, "temperature"),
        _number(body, "top_p"),
        _text(reasoning, "effort") if isinstance(reasoning, dict) else None,
    )


def _messages(model: str, body: Json) -> Facts:
    text = Text()
    counting.anthropic(text, body.get("system"), _list(body, "messages"))
    _tools(text, body.get("tools"))
    given = body.get("output_config")
    output: Json = given if isinstance(given, dict) else {}
    shape = body.get("output_format") or output.get("format")
    _shape(text, shape.get("type") if isinstance(shape, dict) else None, shape)
    choice = body.get("tool_choice")
    return Facts(
        model,
        _flag(body, "stream"),
        text.bound,
        _count(body, "max_tokens"),
        frozenset(text.needs),
        str(choice.get("type")) if isinstance(choice, dict) else None,
        _number(body, "temperature"),
        _number(body, "top_p"),
        _text(output, "effort"),
        usage_wanted=True,
    )


_READERS: dict[str, Callable[[str, Json], Facts]] = {
    CHAT: _chat,
    COMPLETIONS: _completions,
    EMBEDDINGS: _embeddings,
    RESPONSES: _responses,
    MESSAGES: _messages,
}


def _tools(text: Text, tools: Any) -> None:
    if tools:
        text.needs.add("tools")
        text.add(tools)


def _shape(text: Text, kind: Any, shape: Any) -> None:
    if kind == "json_schema":
        text.needs.add("json_schema")
        text.add(shape)


def _choice(choice: Any) -> str | None:
    """A choice that names a tool, or is anything else than a word, counts as not ``auto``."""
    return choice if choice is None or isinstance(choice, str) else "named"


def _all_numbers(values: list[Any]) -> bool:
    return all(isinstance(value, int) for value in values)


def _list(body: Json, name: str) -> list[Any]:
    value = body.get(name)
    if not isinstance(value, list) or not value:
        raise Invalid(name, "a list with at least one message")
    return value


def _flag(body: Json, name: str) -> bool:
    value = body.get(name)
    if value is None or isinstance(value, bool):
        return bool(value)
    raise Invalid(name, "true or false")


def _count(body: Json, *names: str) -> int | None:
    """The first of these fields that states a whole number.

    0 is one: it fills Anthropic's prompt cache, and has the completions API weigh the prompt. A
    number below states none: it is how llama.cpp and LM Studio write that there is no bound.
    Whether the upstream takes either is for the upstream to say.
    """
    for name in names:
        value = body.get(name)
        if value is None:
            continue
        is_whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        if isinstance(value, bool) or not is_whole or value > MOST:
            raise Invalid(name, f"a whole number up to {MOST}")
        if value >= 0:
            return int(value)
    return None


def _number(body: Json, name: str) -> float | None:
    value = body.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Invalid(name, "a number")
    return float(value)


def _text(body: Json, name: str) -> str | None:
    value = body.get(name)
    if value is None or isinstance(value, str):
        return value or None
    raise Invalid(name, "a text")
