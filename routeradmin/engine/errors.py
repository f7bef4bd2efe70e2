"""What the engine refuses with; each text says what to do next."""

from __future__ import annotations

MOST_REQUESTED_CHARS = 600  # of a requested model; no declared name, provider and all, is as long


class EngineError(Exception):
    """Parent of every error the engine raises on purpose."""


class ModelNotFound(EngineError):
    """Nothing answers to the requested name."""

    def __init__(self, requested: str) -> None:
        self.requested = requested
        shown = requested if len(requested) <= MOST_REQUESTED_CHARS else f"{requested[:64]}…"
        super().__init__(
            f"No route answers to the model {shown!r}: list the names with GET /v1/models, "
            "or add a route or an alias."
        )


class InvalidCatalog(EngineError):
    """The compiled catalog would name something that is not there."""
