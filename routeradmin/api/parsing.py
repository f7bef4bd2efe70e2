"""How bodies become values: strict JSON of bounded size."""

from __future__ import annotations

from typing import Any

import orjson
from django.http import HttpRequest
from ninja.parser import Parser

from routeradmin.api.faults import too_large
from routeradmin.api.problems import Problem

OBJECT_LIMIT = 1024 * 1024
CATALOG_LIMIT = 16 * 1024 * 1024


class StrictParser(Parser):
    """orjson instead of json: refuses NaN, bad UTF-8 and lone surrogates."""

    def parse_body(self, request: HttpRequest) -> dict[str, Any]:
        body = request.body
        if len(body) > OBJECT_LIMIT:
            raise too_large(OBJECT_LIMIT)
        content: Any = orjson.loads(body)
        if not isinstance(content, dict):
            raise Problem(
                422,
                "invalid_request",
                "The request was not accepted; send one JSON object.",
                errors=[("", "must be an object")],
            )
        return content
