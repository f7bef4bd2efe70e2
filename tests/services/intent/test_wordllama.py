"""The offline model."""

from __future__ import annotations

import asyncio

import pytest

from routeradmin.adapters import embeddings
from routeradmin.adapters.embeddings import EmbedderUnavailable, WordLlamaModel, unit_rows
from routeradmin.engine.intents import Intent, IntentSettings, Matrix
from routeradmin.engine.snapshot import EMPTY
from routeradmin.services.intent.embedding import WordLlama, embedder_of
from routeradmin.services.intent.judging import Judge
from routeradmin.services.intent.shipped import shipped
from routeradmin.services.intent.words import of_text
from routeradmin.services.runtime import Runtime


def shipped_matrix(**settings: object) -> Matrix:
    listed = (one.as_intent("r") for one in shipped())
    intents = {
        one.id: Intent(
            one.id, "r", examples=one.examples, keywords=one.keywords, local_only=one.local_only
        )
        for one in listed
    }
    return Matrix(IntentSettings(enabled=True, **settings), intents)  # type: ignore[arg-type]


@pytest.mark.semantic
def test_it_gives_unit_vectors_without_any_network() -> None:
    found = WordLlamaModel()(["hello", "", "你好 😀", "a" * 10_000])
    assert found.shape == (4, 256)
    assert ((found * found).sum(axis=1) < 1.001).all()


@pytest.mark.semantic
def test_the_shipped_examples_place_most_test_prompts_of_every_language(
    bare_runtime: Runtime,
) -> None:
    judge = Judge(bare_runtime, shipped_matrix(threshold=0.0), WordLlama())
    right: dict[str, list[bool]] = {}

    async def play() -> None:
        for intent in shipped():
            for prompt in intent.tests:
                words = of_text(prompt.text, has_image=prompt.has_image)
                found = await judge.decide(EMPTY, words, 0.0)
                right.setdefault(prompt.language, []).append(found.intent_id == intent.id)

    asyncio.run(play())
    assert set(right) == {"en", "zh", "es", "de"}
    assert all(sum(one) / len(one) >= 0.85 for one in right.values())


def test_the_labelled_set_is_large_and_its_splits_share_nothing() -> None:
    examples = [prompt.text for one in shipped() for prompt in one.examples]
    tests = [prompt.text for one in shipped() for prompt in one.tests]
    assert len(examples) + len(tests) >= 300
    assert len({*examples, *tests}) == len(examples) + len(tests)
    for intent in shipped():
        for split in (intent.examples, intent.tests):
            assert {prompt.language for prompt in split} == {"en", "zh", "es", "de"}


def test_what_is_not_installed_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(embeddings.importlib, "import_module", missing)
    with pytest.raises(EmbedderUnavailable, match=r"requirements/semantic\.txt"):
        WordLlamaModel()(["hello"])
    with pytest.raises(EmbedderUnavailable, match="numpy"):
        unit_rows([[1.0]])


def test_no_embedder_is_one_of_the_choices(bare_runtime: Runtime) -> None:
    assert embedder_of(bare_runtime, shipped_matrix()) is None
    assert embedder_of(bare_runtime, shipped_matrix(embedder="wordllama")).name == "wordllama"  # type: ignore[union-attr]
    assert embedder_of(bare_runtime, shipped_matrix(embedder="x")).name == "x"  # type: ignore[union-attr]
