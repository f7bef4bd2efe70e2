"""Embeddings from an endpoint behind one of the catalog's own routes."""

from __future__ import annotations

from typing import Any

import pytest

from routeradmin.catalog.document import Document, Intent
from tests.dataplane.catalogs import document
from tests.dataplane.serving import Gateway

pytestmark = pytest.mark.semantic
ONE = [1.0, 0.0, 0.0]


def catalog(gate: Gateway, *, tags: list[str] | None = None, **settings: Any) -> Document:
    held = document(
        gate.upstream,
        "small",
        deployments={
            "big": {},
            "vectors": {"protocol": "embeddings", "tags": ["local"] if tags is None else tags},
        },
        routes=[{"id": "big", "alias": "big"}, {"id": "vectors", "alias": "vectors"}],
        more_targets=[("big", "big", 0), ("vectors", "vectors", 0)],
        defaults={"intents": {"enabled": True, "embedder": "vectors", **settings}},
    )
    listed = (
        Intent(id="coding", route_id="big", examples=("write code", "debug code")),
        Intent(id="fast", route_id="chat", examples=("hello",)),
        Intent(id="secure", route_id="vectors", local_only=True),
    )
    return held.model_copy(update={"intents": listed})


def ask(gate: Gateway, text: str) -> dict[str, Any]:
    body = {"model": "auto", "messages": [{"role": "user", "content": text}]}
    answer = gate.post(body)
    assert answer.status == 200, answer.body
    decision: dict[str, Any] = gate.record["routing"]["intent"]
    return decision


def answers(gate: Gateway, *vectors: Any) -> None:
    """One answer after the other, each with these vectors."""
    steps = [
        {"body": {"object": "list", "data": [{"index": n, "embedding": v} for n, v in rows]}}
        for rows in (list(enumerate(one)) for one in vectors)
    ]
    gate.script("vectors", *steps)


def test_the_nearest_example_decides_after_one_call_for_it_and_one_for_the_examples(
    gate: Gateway,
) -> None:
    gate.use(catalog(gate))
    answers(gate, [ONE], [ONE, ONE, [0.0, 1.0, 0.0]])
    found = ask(gate, "please code")
    assert (found["tier"], found["intent"], found["embedder"]) == ("semantic", "coding", "vectors")
    assert found["threshold"] == 0.85
    assert gate.calls("vectors") == 2
    assert ask(gate, "please code")["cache"] == "exact"
    assert gate.calls("vectors") == 2


@pytest.mark.parametrize(
    "step",
    [
        {"status": 500},
        {"body": {"object": "list", "data": []}},
        {"body": {"object": "list", "data": [{"index": 0}]}},
        {"body": {"object": "list", "data": [{"index": 0, "embedding": "zzz"}]}},
        {"body": {"object": "list", "data": [{"index": 0, "embedding": [None]}]}},
        {"body": {"object": "list", "data": [7]}},
        {"html": True},
    ],
)
def test_an_answer_that_is_none_leaves_the_default(gate: Gateway, step: dict[str, Any]) -> None:
    gate.use(catalog(gate))
    gate.script("vectors", {**step, "times": 50})
    found = ask(gate, "please code")
    assert (found["tier"], found["intent"]) == ("default", "fast")
    assert found["problem"]
    assert gate.calls("vectors") == 1
    assert gate.active == 0


def test_a_remote_embedder_is_not_asked_where_some_intent_is_local_only(gate: Gateway) -> None:
    gate.use(catalog(gate, tags=[]))
    found = ask(gate, "please code")
    assert found["problem"].startswith("nothing of vectors may be asked now")
    assert gate.calls("vectors") == 0


def test_vectors_of_another_length_than_the_examples_leave_the_default(gate: Gateway) -> None:
    gate.use(catalog(gate))
    answers(gate, [ONE], [[1.0], [1.0], [1.0]])
    assert ask(gate, "please code")["tier"] == "default"


def test_slow_is_cut_off(gate: Gateway) -> None:
    gate.use(catalog(gate, embedder_timeout_s=0.1))
    gate.script("vectors", {"delay_ms": 5000})
    assert ask(gate, "please code")["problem"] == "no answer within 0.1 s"
    assert gate.active == 0
