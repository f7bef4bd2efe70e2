"""What llm.catalog/1 asks beyond the superset: its own fields, all arrays, ASCII, its limits."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from routeradmin.catalog.canonical import LLM_MAX_TARGETS, LLM_PROTOCOLS
from routeradmin.catalog.document import KINDS, LLM_FORMAT, Capabilities, Document
from routeradmin.catalog.fields import is_ident
from routeradmin.catalog.problems import Problem, pointer
from routeradmin.catalog.table import Table


def field_problems(values: dict[str, Any]) -> Iterator[Problem]:
    """Fields that only the superset has, and fields that llm.catalog/1 demands."""
    yield from _table(values, Document, ())
    for kind in Document.LLM:
        entries = values.get(kind)
        for index, entry in enumerate(entries if isinstance(entries, list) else ()):
            if isinstance(entry, dict):
                yield from _table(entry, KINDS[kind], (kind, index))
                capabilities = entry.get("capabilities")
                if kind == "serving_models" and isinstance(capabilities, dict):
                    yield from _table(capabilities, Capabilities, (kind, index, "capabilities"))


def _table(
    values: dict[str, Any], table: type[Table], at: tuple[str | int, ...]
) -> Iterator[Problem]:
    superset = {info.alias or name for name, info in table.model_fields.items()}
    for name in superset.intersection(values) - set(table.LLM):
        yield Problem(
            pointer(*at, name),
            f"is not a field of {LLM_FORMAT}: remove it or declare routeradmin.catalog/1",
        )
    # What the superset demands as well is reported by it already.
    optional = {name for name, info in table.model_fields.items() if not info.is_required()}
    for name in table.LLM_REQUIRED:
        if name in optional and name not in values:
            yield Problem(pointer(*at, name), f"is required in {LLM_FORMAT}")


def value_problems(document: Document) -> Iterator[Problem]:
    """Values that only the superset allows."""
    for index, route in enumerate(document.routes):
        if not is_ident(route.alias):
            yield Problem(
                pointer("routes", index, "alias"),
                "must be 1 to 256 bytes of printable ASCII without spaces",
            )
    for index, deployment in enumerate(document.serving_models):
        if deployment.protocol not in LLM_PROTOCOLS:
            yield Problem(
                pointer("serving_models", index, "protocol"),
                f"must be one of {', '.join(LLM_PROTOCOLS)}",
            )
    yield from _positions(document)


def _positions(document: Document) -> Iterator[Problem]:
    taken: defaultdict[str, Counter[int]] = defaultdict(Counter)
    for index, target in enumerate(document.targets):
        positions = taken[target.route_id]
        positions[target.position] += 1
        if positions[target.position] > 1:
            yield Problem(
                pointer("targets", index, "position"),
                f"route {target.route_id} has another target at this position",
            )
        if positions.total() == LLM_MAX_TARGETS + 1:
            yield Problem(
                pointer("targets", index),
                f"route {target.route_id} has more than {LLM_MAX_TARGETS} targets",
            )
