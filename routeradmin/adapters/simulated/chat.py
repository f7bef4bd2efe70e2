"""OpenAI chat completions, and the older text completions: bodies and stream events."""

from __future__ import annotations

from typing import Any

from routeradmin.adapters.simulated.ask import Ask, Frame, Json, Stage, event

FINISH = {"stop": "stop", "length": "length", "tool": "tool_calls"}
DONE = Frame("done", b"data: [DONE]\n\n")


def plain(ask: Ask) -> Json:
    """A ``chat.completion``."""
    message: Json = {"role": "assistant", "content": ask.text or None, "refusal": None}
    if ask.tool_calls:
        message["tool_calls"] = [_call(ask, n, call.arguments) for n, call in _numbered(ask)]
    choices = [
        {"index": n, "message": message, "logprobs": None, "finish_reason": _finish(ask)}
        for n in range(_choices(ask))
    ]
    return _whole(ask, "chatcmpl", "chat.completion", choices)


def frames(ask: Ask) -> list[Frame]:
    """``chat.completion.chunk`` events: role, deltas, finish, usage where asked for, the end."""
    out: list[Frame] = []
    for index in range(_choices(ask)):

        def add(stage: Stage, delta: Json, finish: str | None = None, n: int = index) -> None:
            choice = {"index": n, "delta": delta, "logprobs": None, "finish_reason": finish}
            out.append(Frame(stage, event(_chunk(ask, "chat.completion.chunk", [choice]))))

        add("role", {"role": "assistant", "content": None if ask.tool_calls else ""})
        for piece in ask.pieces:
            add("text", {"content": piece})
        for n, call in _numbered(ask):
            add("tool", {"tool_calls": [{"index": n, **_call(ask, n, "")}]})
            for part in halves(call.arguments):
                add("tool", {"tool_calls": [{"index": n, "function": {"arguments": part}}]})
        add("finish", {}, _finish(ask))
    return out + _tail(ask, "chat.completion.chunk")


def completion(ask: Ask) -> Json:
    """A ``text_completion``."""
    choices = [
        {"index": n, "text": ask.text, "logprobs": None, "finish_reason": _finish(ask)}
        for n in range(_choices(ask))
    ]
    return _whole(ask, "cmpl", "text_completion", choices)


def completion_frames(ask: Ask) -> list[Frame]:
    """``text_completion`` events; this older stream has no role and ends with an empty text."""
    out: list[Frame] = []
    for index in range(_choices(ask)):
        for piece in [*ask.pieces, ""]:
            last = piece == ""
            choice = {"index": index, "text": piece, "logprobs": None}
            choice["finish_reason"] = _finish(ask) if last else None
            stage: Stage = "finish" if last else "text"
            out.append(Frame(stage, event(_chunk(ask, "text_completion", [choice]))))
    return out + _tail(ask, "text_completion")


def usage(ask: Ask) -> Json | None:
    """Token figures, with what a step puts over them; None where a step takes them away."""
    if ask.usage is None:
        return None
    inputs, outputs = ask.input_tokens, ask.output_tokens * _choices(ask)
    return {
        "prompt_tokens": inputs,
        "completion_tokens": outputs,
        "total_tokens": inputs + outputs,
        **ask.usage,
    }


def halves(arguments: str) -> list[str]:
    """Tool arguments in two pieces, so that a stream can be cut in the middle of a call."""
    middle = len(arguments) // 2
    return [arguments[:middle], arguments[middle:]]


def _whole(ask: Ask, prefix: str, kind: str, choices: list[Json]) -> Json:
    body: Json = {
        "id": f"{prefix}-sim{ask.serial:08d}",
        "object": kind,
        "created": ask.created_s,
        "model": ask.model,
        "choices": [] if ask.empty else choices,
    }
    figures = usage(ask)
    return body if figures is None else {**body, "usage": figures}


def _chunk(ask: Ask, kind: str, choices: list[Json]) -> Json:
    prefix = "chatcmpl" if kind.startswith("chat") else "cmpl"
    body: Json = {
        "id": f"{prefix}-sim{ask.serial:08d}",
        "object": kind,
        "created": ask.created_s,
        "model": ask.model,
        "choices": [] if ask.empty else choices,
    }
    return {**body, "usage": None} if _wants_usage(ask) else body


def _tail(ask: Ask, kind: str) -> list[Frame]:
    figures = usage(ask)
    if not _wants_usage(ask) or figures is None:
        return [DONE]
    return [Frame("usage", event({**_chunk(ask, kind, []), "usage": figures})), DONE]


def _wants_usage(ask: Ask) -> bool:
    options: Any = ask.body.get("stream_options")
    return isinstance(options, dict) and options.get("include_usage") is True


def _numbered(ask: Ask) -> list[tuple[int, Any]]:
    return list(enumerate(ask.tool_calls))


def _call(ask: Ask, n: int, arguments: str) -> Json:
    return {
        "id": f"call_sim{ask.serial:08d}_{n}",
        "type": "function",
        "function": {"name": ask.tool_calls[n].name, "arguments": arguments},
    }


def _finish(ask: Ask) -> str:
    return ask.finish_word or FINISH[ask.finish]


def _choices(ask: Ask) -> int:
    wanted = ask.body.get("n")
    return wanted if isinstance(wanted, int) and 1 <= wanted <= 128 else 1
