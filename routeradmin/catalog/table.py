"""What all tables of the document share."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict


class Table(BaseModel):
    """A frozen, strict table. Fields are declared in canonical order.

    ``LLM`` names the fields that belong to llm.catalog/1, ``LLM_REQUIRED`` those it demands.
    ``ALWAYS`` names fields that the canonical form writes even at their default.
    """

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        frozen=True,
        allow_inf_nan=False,
        hide_input_in_errors=True,
        populate_by_name=True,
    )

    LLM: ClassVar[tuple[str, ...]] = ()
    LLM_REQUIRED: ClassVar[tuple[str, ...]] = ()
    ALWAYS: ClassVar[frozenset[str]] = frozenset()

    def implied(self) -> dict[str, Any]:
        """Defaults that follow from the table's other fields."""
        return {}
