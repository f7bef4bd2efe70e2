"""OpenAI embeddings: unit vectors that follow from the text alone."""

from __future__ import annotations

from base64 import b64encode
from math import sqrt
from random import Random
from struct import pack
from typing import Any

import orjson

from routeradmin.adapters.simulated.ask import Ask, Json
from routeradmin.adapters.simulated.text import tokens_in

DIMENSIONS = 64


def plain(ask: Ask) -> Json:
    """A list of vectors, as numbers or, with ``encoding_format`` base64, as packed floats."""
    given = _inputs(ask.body.get("input"))
    wanted = ask.body.get("dimensions")
    size = wanted if isinstance(wanted, int) and 1 <= wanted <= 4096 else DIMENSIONS
    packed = ask.body.get("encoding_format") == "base64"
    entries = [
        {"object": "embedding", "index": n, "embedding": _vector(item, size, packed)}
        for n, item in enumerate(given)
    ]
    body: Json = {"object": "list", "data": [] if ask.empty else entries, "model": ask.model}
    if ask.usage is None:
        return body
    total = sum(tokens_in(item) if isinstance(item, str) else len(item) for item in given)
    return {**body, "usage": {"prompt_tokens": total, "total_tokens": total, **ask.usage}}


def _inputs(value: Any) -> list[Any]:
    """The inputs: one text, texts, one list of token ids, or several such lists."""
    if not isinstance(value, list):
        return [str(value)]
    if value and all(isinstance(item, int) for item in value):
        return [value]
    return [item if isinstance(item, list) else str(item) for item in value]


def _vector(item: Any, size: int, packed: bool) -> list[float] | str:
    rng = Random(orjson.dumps(item))
    raw = [rng.gauss(0.0, 1.0) for _ in range(size)]
    length = sqrt(sum(x * x for x in raw)) or 1.0
    unit = [x / length for x in raw]
    return b64encode(pack(f"<{size}f", *unit)).decode() if packed else unit
