"""What other programs know by heart about vendors: base URLs, kinds of keys, protocols."""

from __future__ import annotations

from dataclasses import dataclass, replace
from urllib.parse import quote

OPENAI = "openai-compatible"


@dataclass(frozen=True, slots=True)
class Vendor:
    """``base_url`` None: the file has to give one. ``needs_v1``: calls go below ``/v1``."""

    base_url: str | None = None
    kind: str = OPENAI
    protocol: str = "chat-completions"
    auth_kind: str = "bearer"
    api_key_header: str | None = None
    needs_v1: bool = False
    category: str = "vendor"
    billing_kind: str = "metered"


_SELF_HOSTED = Vendor(category="self-hosted", billing_kind="self-hosted")

VENDORS: dict[str, Vendor] = {
    "openai": Vendor("https://api.openai.com/v1/"),
    "anthropic": Vendor(
        "https://api.anthropic.com/v1/",
        kind="anthropic",
        protocol="messages",
        auth_kind="api-key",
        api_key_header="x-api-key",
        needs_v1=True,
    ),
    "azure": Vendor(kind="azure", auth_kind="api-key", api_key_header="api-key"),
    "cerebras": Vendor("https://api.cerebras.ai/v1/"),
    "deepseek": Vendor("https://api.deepseek.com/v1/"),
    "fireworks_ai": Vendor("https://api.fireworks.ai/inference/v1/"),
    "gemini": Vendor("https://generativelanguage.googleapis.com/v1beta/openai/"),
    "groq": Vendor("https://api.groq.com/openai/v1/"),
    "jina_ai": Vendor("https://api.jina.ai/v1/"),
    "mistral": Vendor("https://api.mistral.ai/v1/"),
    "openrouter": Vendor("https://openrouter.ai/api/v1/"),
    "perplexity": Vendor("https://api.perplexity.ai/"),
    "together_ai": Vendor("https://api.together.xyz/v1/"),
    "xai": Vendor("https://api.x.ai/v1/"),
    "hosted_vllm": _SELF_HOSTED,
    "lm_studio": _SELF_HOSTED,
    "openai_like": Vendor(),
    "ollama": replace(
        _SELF_HOSTED, base_url="http://127.0.0.1:11434/v1/", kind="ollama", needs_v1=True
    ),
    "ollama_chat": replace(
        _SELF_HOSTED, base_url="http://127.0.0.1:11434/v1/", kind="ollama", needs_v1=True
    ),
}
OTHER = Vendor()


def with_v1(base_url: str, vendor: Vendor) -> str:
    """The URL that calls go below: some programs add ``/v1`` themselves."""
    trimmed = base_url.rstrip("/")
    return f"{trimmed}/v1/" if vendor.needs_v1 and not trimmed.endswith("/v1") else base_url


def unresolved_url(name: str) -> str:
    """A URL whose host never resolves, for one that is still to be given."""
    host = "".join(char if char.isalnum() else "-" for char in name.lower()).strip("-")
    return f"https://{quote(host or 'unnamed')[:60].strip('-')}.invalid/"
