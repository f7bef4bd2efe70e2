"""Which columns carry which fields: names are the format's own, absent text is empty."""

from __future__ import annotations

from typing import Any

from django.db.models import Model as Row

from routeradmin.catalog import document as doc
from routeradmin.catalog.policies import CooldownRules, Policy, Retry, Turn
from routeradmin.catalog.table import Table

# Fields whose column has the same name. References to other rows are not among them.
PROVIDER = ("category", "name", "kind", "admin_state", "tags")
ACCOUNT = ("auth_kind", "billing_kind", "api_key_header", "name", "admin_state", "tags")
ENDPOINT = (
    "base_url",
    "name",
    "headers",
    "proxy",
    "ca_file",
    "connect_timeout_s",
    "header_timeout_s",
    "idle_timeout_s",
    "total_timeout_s",
)
MODEL = ("upstream_name", "name")
CAPABILITIES = tuple(doc.Capabilities.model_fields)
PROBE = ("mode", "interval_s", "timeout_s", "failure_threshold", "path")
SERVING_MODEL = (
    "protocol",
    "name",
    "protocols",
    "weight",
    "priority",
    "rpm_limit",
    "tpm_limit",
    "max_parallel_requests",
    "admin_state",
    "drain_until",
    "tags",
    "input_price",
    "output_price",
)
ROUTE = (
    "alias",
    "fallback_enabled",
    "name",
    "strategy",
    "when_exhausted",
    "max_wait_s",
    "affinity_ttl_s",
    "admin_state",
    "tags",
)
RULE = ("position",)
INTENT = ("name", "description", "examples", "keywords", "local_only")
DEFAULTS = ("strategy", "auto_priority")
POLICY_TABLES: dict[str, type[Table]] = {"retry": Retry, "turn": Turn, "cooldown": CooldownRules}

OPTIONAL_TEXT = frozenset(
    {"name", "api_key_header", "proxy", "ca_file", "strategy", "path", "probe_path", "probe_mode"}
)


def to_columns(table: Table, fields: tuple[str, ...], prefix: str = "") -> dict[str, Any]:
    """Column values of a table's fields; lists for tuples, empty text for absent text."""
    return {prefix + field: _column(field, getattr(table, field)) for field in fields}


def _column(field: str, value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    return "" if value is None and field in OPTIONAL_TEXT else value


def from_columns(row: Row, fields: tuple[str, ...], prefix: str = "") -> dict[str, Any]:
    """The document's values of these columns; what is absent is left out."""
    values: dict[str, Any] = {}
    for field in fields:
        value = getattr(row, prefix + field)
        if value is not None and not (value == "" and field in OPTIONAL_TEXT):
            values[field] = value
    return values


def policy_columns(policy: Policy) -> dict[str, Any]:
    columns = to_columns(policy, ("name",))
    for name, table in POLICY_TABLES.items():
        columns |= to_columns(getattr(policy, name), tuple(table.model_fields), f"{name}_")
    columns["classify"] = [
        rule.model_dump(by_alias=True, exclude_none=True) for rule in policy.classify
    ]
    return columns


def policy_values(row: Row) -> dict[str, Any]:
    values = from_columns(row, ("name", "classify"))
    for name, table in POLICY_TABLES.items():
        values[name] = from_columns(row, tuple(table.model_fields), f"{name}_")
    return values
