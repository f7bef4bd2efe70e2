"""How a decision is come by, tier after tier."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from routeradmin.engine.intents import Decision, Intent, Matrix
from routeradmin.engine.snapshot import EMPTY
from routeradmin.services.intent.judging import Judge
from routeradmin.services.intent.words import of_text
from routeradmin.services.runtime import Runtime
from tests.services.intent.conftest import Letters, matrix

NOW = 1000.0


class Bench:
    """A judge to put texts before."""

    def __init__(self, runtime: Runtime, runner: asyncio.Runner) -> None:
        self.runtime, self.runner = runtime, runner

    def judge(self, of: Matrix, embedder: Letters | None = None) -> Judge:
        return Judge(self.runtime, of, embedder)

    def decide(self, judge: Judge, text: str, *, image: bool = False, now: float = NOW) -> Decision:
        return self.runner.run(judge.decide(EMPTY, of_text(text, has_image=image), now))


@pytest.fixture
def bench(bare_runtime: Runtime, runner: asyncio.Runner) -> Bench:
    return Bench(bare_runtime, runner)


def test_an_image_means_vision_before_anything_is_embedded(bench: Bench) -> None:
    letters = Letters()
    found = bench.decide(bench.judge(matrix(), letters), "write code", image=True)
    assert (found.tier, found.intent_id, found.route_id) == ("reflex", "vision", "r-vision")
    assert found.signs == ("image",)
    assert not found.local_only
    assert letters.asked == []


@pytest.mark.parametrize(
    ("text", "sign"),
    [
        ("mail me at ann@example.com", "email"),
        ("pay with 4111 1111 1111 1111", "card"),
        ("AKIAIOSFODNN7EXAMPLE", "key"),
    ],
)
def test_sensitive_text_means_secure_and_stays_local(bench: Bench, text: str, sign: str) -> None:
    found = bench.decide(bench.judge(matrix()), text)
    assert (found.tier, found.intent_id, found.signs) == ("reflex", "secure", (sign,))
    assert found.local_only


def test_an_image_beside_sensitive_text_goes_to_vision_but_stays_local(bench: Bench) -> None:
    found = bench.decide(bench.judge(matrix()), "who is ann@example.com", image=True)
    assert found.intent_id == "vision"
    assert found.local_only


def test_a_reflex_that_is_switched_off_sees_nothing(bench: Bench) -> None:
    judge = bench.judge(matrix(reflexes=("image",)))
    assert bench.decide(judge, "ann@example.com").tier == "default"


def test_sensitive_text_without_such_an_intent_is_only_noted(bench: Bench) -> None:
    judge = bench.judge(matrix(Intent("fast", "r")))
    found = bench.decide(judge, "ann@example.com")
    assert (found.tier, found.signs, found.local_only) == ("default", ("email",), False)


def test_a_keyword_decides_before_anything_is_embedded(bench: Bench) -> None:
    of = matrix(Intent("coding", "r", keywords=("sql",)), Intent("fast", "f"))
    found = bench.decide(bench.judge(of, Letters()), "an SQL question")
    assert (found.tier, found.intent_id, found.keyword) == ("keyword", "coding", "sql")


def test_without_any_tier_the_default_intent_is_taken(bench: Bench) -> None:
    found = bench.decide(bench.judge(matrix()), "anything")
    assert (found.tier, found.intent_id, found.confidence) == ("default", "fast", None)


def test_without_a_default_intent_nothing_is_decided(bench: Bench) -> None:
    found = bench.decide(bench.judge(matrix(default_id="gone")), "anything")
    assert (found.tier, found.intent_id, found.route_id) == ("none", None, None)


@pytest.mark.semantic
def test_the_nearest_examples_decide_and_are_shown(bench: Bench) -> None:
    found = bench.decide(bench.judge(matrix(), Letters()), "code debug")
    assert (found.tier, found.intent_id) == ("semantic", "coding")
    assert found.similar[0].intent_id == "coding"
    assert found.similar[0].example == 1
    assert found.confidence == found.similar[0].similarity
    assert found.threshold == 0.9


@pytest.mark.semantic
def test_below_the_threshold_the_default_is_taken_and_the_similarity_shown(bench: Bench) -> None:
    found = bench.decide(bench.judge(matrix(threshold=0.999), Letters()), "debug codes")
    assert (found.tier, found.intent_id) == ("default", "fast")
    assert found.similar[0].intent_id == "coding"


@pytest.mark.semantic
def test_the_same_text_again_is_answered_from_the_cache(bench: Bench) -> None:
    letters = Letters()
    judge = bench.judge(matrix(cache_ttl_s=60.0), letters)
    first = bench.decide(judge, "code debug")
    asked = len(letters.asked)
    again = bench.decide(judge, "code debug", now=NOW + 59)
    assert (first.cache, again.cache, again.tier) == ("miss", "exact", "cache")
    assert again.intent_id == "coding"
    assert len(letters.asked) == asked
    assert bench.decide(judge, "code debug", now=NOW + 61).cache == "miss"
    assert (judge.cache.hits, judge.cache.misses) == (1, 2)


@pytest.mark.semantic
def test_what_is_semantically_secure_stays_local(bench: Bench) -> None:
    found = bench.decide(bench.judge(matrix(), Letters()), "numbers passport")
    assert (found.intent_id, found.local_only) == ("secure", True)


def test_a_broken_embedder_leaves_the_default_and_says_so(bench: Bench) -> None:
    found = bench.decide(bench.judge(matrix(), Letters(broken=True)), "anything")
    assert (found.tier, found.problem) == ("default", "it is broken")


@pytest.mark.semantic
def test_texts_of_one_tick_are_embedded_in_one_batch(bench: Bench) -> None:
    letters = Letters()
    judge = bench.judge(matrix(), letters)
    texts = [f"text number {n}" for n in range(20)]

    async def all_at_once() -> list[Any]:
        return await asyncio.gather(*(judge.decide(EMPTY, of_text(t), NOW) for t in texts))

    bench.runner.run(all_at_once())
    assert letters.asked[0] == texts


def test_no_part_of_the_prompt_shows_in_a_decision(bench: Bench) -> None:
    found = bench.decide(bench.judge(matrix()), "zebra ann@example.com 4111111111111111")
    shown = repr(found) + str(found.as_json())
    assert not any(word in shown for word in ("zebra", "ann@", "4111"))


def test_first_requests_that_come_together_embed_the_examples_once(bench: Bench) -> None:
    letters = Letters()
    judge = bench.judge(matrix(), letters)

    async def crowd() -> list[Decision]:
        asked = (judge.decide(EMPTY, of_text(f"debug code {n}"), NOW) for n in range(9))
        return await asyncio.gather(*asked)

    assert {found.intent_id for found in bench.runner.run(crowd())} == {"coding"}
    assert letters.asked[1:] == [
        ["code, to debug", "debug code", "hello hello", "passport numbers"]
    ]
