"""The words of OpenTelemetry's conventions for generative AI, for metrics and traces."""

from __future__ import annotations

from routeradmin.services.inference.facts import CHAT, COMPLETIONS, EMBEDDINGS, MESSAGES, RESPONSES

_OPERATIONS = {
    CHAT: "chat",
    MESSAGES: "chat",
    RESPONSES: "chat",
    COMPLETIONS: "text_completion",
    EMBEDDINGS: "embeddings",
}


def operation_of(operation: str) -> str:
    """``gen_ai.operation.name`` of a called protocol; counting tokens has a name of its own."""
    return _OPERATIONS.get(operation, operation)
