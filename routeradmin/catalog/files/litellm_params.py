"""One deployment's ``litellm_params`` and ``model_info``: what maps, and what does not."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from routeradmin.catalog.files.drafting import Drafting, Place
from routeradmin.catalog.files.values import TEXT, amount, text, whole
from routeradmin.catalog.files.vendors import VENDORS

_TEXTS = {"custom_llm_provider", "api_key"}
_READ = {"model", "api_base", "base_url", *_TEXTS}
_LIMITS = {"rpm": "rpm_limit", "tpm": "tpm_limit", "max_parallel_requests": None}
_PRICES = {"input_cost_per_token": "input_price", "output_cost_per_token": "output_price"}
_MISREAD = {"rpm_limit": "rpm", "tpm_limit": "tpm"}
_REQUEST = {
    *("temperature", "top_p", "max_tokens", "max_completion_tokens", "stop", "seed", "n"),
    *("presence_penalty", "frequency_penalty", "extra_body", "extra_headers", "stream"),
    *("reasoning_effort", "thinking", "response_format", "drop_params"),
}
_CAPABILITIES = {
    "supports_function_calling": "tools",
    "supports_tool_choice": "tool_choice",
    "supports_vision": "vision",
    "supports_audio_input": "audio",
    "supports_response_schema": "json_schema",
}
_MODES = {"embedding": "embeddings", "chat": None, "completion": "completions", "responses": None}
_INFERRED = (("claude", "anthropic"), ("gemini", "gemini"))


def split_model(params: dict[str, Any]) -> tuple[str, str, bool]:
    """(provider, upstream name, inferred): the text before the first ``/`` names the provider
    unless ``custom_llm_provider`` does."""
    model, stated = str(params["model"]), text(params.get("custom_llm_provider"))
    head, slash, rest = model.partition("/")
    if stated:
        return stated, rest if slash and head == stated else model, False
    if slash and rest and head in VENDORS:
        return head, rest, False
    if slash and rest:
        return head, rest, True
    for start, provider in _INFERRED:
        if model.startswith(start):
            return provider, model, True
    return "openai", model, True


@dataclass(slots=True)
class Params:
    drafting: Drafting
    place: Place
    params: dict[str, Any]
    info: dict[str, Any]
    order: int = 0
    timeout_s: float | None = None
    id: str | None = None
    _fields: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, value in self.params.items():
            if name not in _READ:
                self._param(name, value)
            elif name in _TEXTS:
                self.drafting.read(TEXT, self.params, name, (*self.place, "litellm_params"))
        for name, value in self.info.items():
            self._information(name, value)

    def fields(self) -> dict[str, Any]:
        """The deployment's own fields."""
        return dict(self._fields)

    def _param(self, name: str, value: Any) -> None:
        at = (*self.place, "litellm_params", name)
        count, number = whole(value), amount(value)
        if value is None:
            self.drafting.leave(*at, why="is null")
        elif name in _LIMITS and count is not None:
            self._fields[_LIMITS[name] or name] = count
        elif name == "weight" and number is not None:
            self._fields["weight"] = round(number)
            if round(number) != number:
                self.drafting.note(*at, what="was rounded: weights are whole numbers here")
        elif name == "order" and count is not None:
            self.order = count
        elif name in ("timeout", "request_timeout") and number:
            self.timeout_s = number
        elif name in _PRICES and number is not None:
            self._fields[_PRICES[name]] = round(number * 1_000_000, 9)
        elif name == "tags" and isinstance(value, list):
            self._fields["tags"] = self.drafting.texts(value, at)
        else:
            self.drafting.leave(*at, why=_why(name))

    def _information(self, name: str, value: Any) -> None:
        at = (*self.place, "model_info", name)
        number = amount(value)
        if name == "id" and text(value):
            self.id = text(value)
        elif name in _CAPABILITIES and isinstance(value, bool):
            self._fields.setdefault("capabilities", {})[_CAPABILITIES[name]] = value
        elif name == "mode" and isinstance(value, str) and value in _MODES:
            protocol = _MODES[value]
            if protocol is not None:
                self._fields["protocol"] = protocol
        elif name in _PRICES and number is not None:
            self._fields[_PRICES[name]] = round(number * 1_000_000, 9)
        else:
            self.drafting.leave(*at, why="has no counterpart")


def _why(name: str) -> str:
    if name in _MISREAD:
        return (
            f"looks like a limit and was not one in the source, whose router reads {_MISREAD[name]}"
            ": state the deployment's limit if it is wanted"
        )
    if name in _REQUEST:
        return "is a default request parameter: callers send their own"
    if name == "api_version":
        return "goes into the URL's query in the source; the endpoint's base URL has none"
    return "has no counterpart"
