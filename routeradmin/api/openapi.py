"""The OpenAPI document of both planes: ninja's operations, completed, and the bare ASGI paths."""

from __future__ import annotations

from typing import Any

from ninja.openapi.schema import REF_TEMPLATE, OpenAPISchema
from ninja.operation import Operation
from ninja.schema import NinjaGenerateJsonSchema
from pydantic import BaseModel

from routeradmin.api import dataplane_paths
from routeradmin.api.access import MAX_REASON, REASON_HEADER, Needs, Right
from routeradmin.api.problems import MEDIA_TYPE, ProblemDocument

SECURITY_SCHEMES = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "An API key."},
    "api_key": {"type": "apiKey", "in": "header", "name": "x-api-key"},
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": "sessionid",
        "description": "The console's session; writes need X-CSRFToken too.",
    },
}
CONDITIONAL = {"patch", "put", "delete"}
UNCONDITIONAL = {"/api/v1/cooldowns"}
PREFIX = "#/components/schemas/"
IF_MATCH = {
    "name": "If-Match",
    "in": "header",
    "required": True,
    "schema": {"type": "string"},
    "description": "The object's ETag as it was read, or * for whatever it holds now.",
}
REASON = {
    "name": REASON_HEADER,
    "in": "header",
    "required": False,
    "schema": {"type": "string", "maxLength": MAX_REASON},
    "description": "Why, in your words: kept with the revision and in the audit.",
}
REFUSALS = {
    400: "The body is not JSON.",
    401: "No valid API key or session.",
    403: "The key lacks the scope, or the session's role the right.",
    404: "There is no such object.",
    409: "Others name the object, or the name is taken.",
    412: "The object was changed since it was read.",
    413: "The body is too large.",
    422: "The request was not accepted; every place is listed.",
    428: "If-Match is missing.",
}


class ApiDocument(OpenAPISchema):
    """ninja's document plus rights, conditions, refusals and the data plane's paths."""

    def get_paths(self) -> dict[str, Any]:
        paths: dict[str, Any] = super().get_paths()
        self.refer(ProblemDocument)
        for path, methods in paths.items():
            for method, details in methods.items():
                if method in CONDITIONAL and path not in UNCONDITIONAL:
                    require_match(details)
        return paths | dataplane_paths.paths(self.refer)

    def refer(self, model: type[BaseModel]) -> dict[str, str]:
        """The reference to a model's schema, which is added when it is new."""
        schema = model.model_json_schema(
            ref_template=REF_TEMPLATE, schema_generator=NinjaGenerateJsonSchema
        )
        self.add_schema_definitions(schema.pop("$defs", {}))
        self.schemas[model.__name__] = schema
        return {"$ref": PREFIX + model.__name__}

    def get_components(self) -> dict[str, Any]:
        return {"schemas": self.schemas, "securitySchemes": SECURITY_SCHEMES}

    def operation_security(self, operation: Operation) -> list[dict[str, Any]] | None:
        return [{name: []} for name in SECURITY_SCHEMES]

    def operation_details(self, operation: Operation) -> dict[str, Any]:
        details: dict[str, Any] = super().operation_details(operation)
        right = right_of(operation)
        details["x-required-scope"] = right.scope
        details["x-required-role"] = right.role
        if operation.methods != ["GET"]:
            details["parameters"] = [*details["parameters"], REASON]
        refused = [401, 403]
        if "{" in operation.path:
            refused.append(404)
        if details.get("requestBody"):
            refused += [400, 413]
        if details.get("requestBody") or details["parameters"]:
            refused.append(422)
        if right in (Right.WRITE, Right.ADMIN) and operation.methods != ["GET"]:
            refused.append(409)
        for status in sorted(set(refused)):
            details["responses"].setdefault(status, refusal(status))
        return details


def right_of(operation: Operation) -> Right:
    """What the operation asks of its caller. Raises LookupError for one that asks nothing."""
    for needs in operation.auth_callbacks:
        if isinstance(needs, Needs):
            return needs.right
    raise LookupError(f"{operation.view_func.__name__} lets everybody in")


def require_match(details: dict[str, Any]) -> None:
    details["parameters"] = [*details["parameters"], IF_MATCH]
    for status in (412, 428):
        details["responses"][status] = refusal(status)


def refusal(status: int) -> dict[str, Any]:
    schema = {"$ref": PREFIX + ProblemDocument.__name__}
    return {"description": REFUSALS[status], "content": {MEDIA_TYPE: {"schema": schema}}}
