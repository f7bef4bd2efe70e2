"""The shipped example, explained from the file on: the published cases of llm.catalog/1."""

from __future__ import annotations

import random
from typing import Any

import pytest

from routeradmin.adapters.state_memory import MemoryStore
from routeradmin.catalog.compile import compile
from routeradmin.catalog.files import read
from routeradmin.engine.explain import explain
from routeradmin.engine.request import SelectRequest
from tests.catalog.documents import example_bytes


def explained(data: bytes, model: str = "code", **asked: Any) -> dict[str, Any]:
    snapshot = compile(read(data), 1)
    store = MemoryStore()
    store.bind(snapshot)
    request = SelectRequest(model, **asked)
    return explain(snapshot, model, request, store, 0.0, random.Random(1)).as_json()


def rejections(answer: dict[str, Any]) -> list[list[str]]:
    return [target["rejections"] for target in answer["targets"]]


def with_fallback() -> bytes:
    return example_bytes().replace(b"fallback_enabled = false", b"fallback_enabled = true")


def test_the_example_explains_as_published() -> None:
    answer = explained(example_bytes(), input_tokens=512, max_output_tokens=256)
    first, second = answer["targets"]

    assert answer["route_id"] == "coding"
    assert answer["alias"] == "code"
    assert answer["selected_target_id"] == "coding-primary"
    assert answer["config_digest"].startswith("1365b05f")
    assert first["provenance"] == {
        "protocol": "chat-completions",
        "provider": "my-lab",
        "account": "local",
        "endpoint": "local-vllm",
        "model": "small",
        "binding_revision": "1a6ea40f98c8eef26ff66e7c753dda816f45a1aa3488bb31f62ef25a89c328a1",
    }
    assert second["provenance"]["binding_revision"].startswith("5dd662a7")
    assert (first["auth_kind"], first["billing_kind"]) == ("anonymous", "self-hosted")
    assert (second["auth_kind"], second["billing_kind"]) == ("bearer", "metered")
    assert rejections(answer) == [[], ["fallback-disabled"]]


def test_swapped_positions_select_the_other_target() -> None:
    swapped = (
        example_bytes()
        .replace(b"position = 0", b"position = 9")
        .replace(b"position = 1", b"position = 0")
        .replace(b"position = 9", b"position = 1")
    )
    answer = explained(swapped, input_tokens=512, max_output_tokens=256)

    assert answer["selected_target_id"] == "coding-secondary"


def test_what_the_first_target_cannot_do_selects_the_second_only_with_fallback_on() -> None:
    asked = {"input_tokens": 512, "temperature": 0.5}
    off, on = explained(example_bytes(), **asked), explained(with_fallback(), **asked)

    assert rejections(off) == [["temperature"], ["fallback-disabled"]]
    assert off["selected_target_id"] is None
    assert rejections(on) == [["temperature"], []]
    assert on["selected_target_id"] == "coding-secondary"


def test_every_reason_is_told_in_the_published_order() -> None:
    answer = explained(
        example_bytes(),
        requires=frozenset({"tools"}),
        tool_choice="required",
        temperature=1.0,
        top_p=0.5,
        reasoning_effort="high",
        max_output_tokens=2000,
        input_tokens=4000,
    )
    assert answer["targets"][0]["rejections"] == [
        "tools",
        "tool-choice",
        "temperature",
        "top-p",
        "reasoning-effort",
        "output-limit",
        "context-window",
    ]


@pytest.mark.parametrize(
    ("input_tokens", "max_output_tokens", "expected"),
    [
        (3968, 128, []),
        (3969, 128, ["context-window"]),
        (3072, None, []),
        (3073, None, ["context-window"]),
        (None, None, ["input-tokens-unknown"]),
    ],
)
def test_the_window_is_met_exactly(
    input_tokens: int | None, max_output_tokens: int | None, expected: list[str]
) -> None:
    answer = explained(
        example_bytes(), input_tokens=input_tokens, max_output_tokens=max_output_tokens
    )
    assert answer["targets"][0]["rejections"] == expected
