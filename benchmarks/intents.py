"""Intent routing on the labelled prompts: accuracy, threshold, time.

    python -m benchmarks.intents [--repeat N]

The prompts of fixtures/intents are made up: the split "examples" is what an intent ships with,
"test" is what is measured here. Needs the semantic extra for anything but the reflexes.
"""

from __future__ import annotations

import argparse
import asyncio
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from statistics import median, quantiles
from time import perf_counter
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchmarks.settings")

import django

django.setup()

from routeradmin.adapters.embeddings import (  # noqa: E402
    WORDLLAMA_THRESHOLD,
    Embedder,
    EmbedderUnavailable,
)
from routeradmin.engine.intents import Decision, Intent, IntentSettings, Matrix  # noqa: E402
from routeradmin.engine.snapshot import EMPTY  # noqa: E402
from routeradmin.services.intent.embedding import WordLlama  # noqa: E402
from routeradmin.services.intent.judging import Judge  # noqa: E402
from routeradmin.services.intent.shipped import LANGUAGES, Prompt, shipped  # noqa: E402
from routeradmin.services.intent.words import of_text  # noqa: E402

CUTS = (0.0, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.7)
NOTHING: Any = None  # no runtime: nothing here asks a model


def matrix(**settings: Any) -> Matrix:
    intents = {
        one.id: Intent(
            one.id,
            one.id,
            examples=tuple(prompt.text for prompt in one.examples),
            keywords=one.keywords,
            local_only=one.local_only,
        )
        for one in shipped()
    }
    return Matrix(IntentSettings(enabled=True, **settings), intents)


def without_reflexes(whole: Matrix) -> Matrix:
    settings = replace(whole.settings, reflexes=())
    bare = {name: replace(one, keywords=()) for name, one in whole.intents.items()}
    return Matrix(settings, bare)


async def judged(judge: Judge, prompts: Sequence[Prompt]) -> list[Decision]:
    return [
        await judge.decide(EMPTY, of_text(one.text, has_image=one.has_image), 0.0)
        for one in prompts
    ]


def accuracy(prompts: Sequence[Prompt], found: Sequence[Decision]) -> dict[str, float]:
    right, asked = Counter[str](), Counter[str]()
    for prompt, decision in zip(prompts, found, strict=True):
        for name in (prompt.language, "all"):
            asked[name] += 1
            right[name] += decision.intent_id == prompt.intent_id
    return {name: right[name] / asked[name] for name in (*LANGUAGES, "all")}


def report_accuracy(
    title: str, run: Callable[[Judge, Sequence[Prompt]], Awaitable[list[Decision]]], judge: Judge
) -> list[Decision]:
    prompts = tests()
    found = asyncio.run(run(judge, prompts))  # type: ignore[arg-type]
    cells = "".join(f"{share:9.1%}" for share in accuracy(prompts, found).values())
    print(f"{title:44}{cells}")
    return found


def tests() -> list[Prompt]:
    return [prompt for one in shipped() for prompt in one.tests]


def curve(found: Sequence[Decision]) -> None:
    """Precision and recall of the nearest intent alone, by the similarity it must have."""
    prompts = tests()
    print(
        f"\n{'threshold':>10}{'decides':>10}{'precision':>11}{'recall':>9}   (nearest intent alone)"
    )
    for cut in CUTS:
        pairs = [
            (one.similar[0].intent_id == prompt.intent_id)
            for prompt, one in zip(prompts, found, strict=True)
            if one.similar and one.similar[0].similarity >= cut
        ]
        if pairs:
            mark = "  <- default" if cut == WORDLLAMA_THRESHOLD else ""
            precision, recall = sum(pairs) / len(pairs), sum(pairs) / len(prompts)
            print(f"{cut:10.2f}{len(pairs):10}{precision:11.1%}{recall:9.1%}{mark}")


async def times(judge: Judge, prompts: Sequence[Prompt], repeat: int) -> dict[str, list[float]]:
    """Microseconds a decision, one at a time: new to the cache, and known to it."""
    found: dict[str, list[float]] = {"new text, warm model": [], "cache hit": []}
    for turn in range(repeat):
        for prompt in prompts:
            words = of_text(f"{prompt.text} {turn}")
            for name in found:
                started = perf_counter()
                decision = await judge.decide(EMPTY, words, 0.0)
                took = (perf_counter() - started) * 1e6
                if name != "cache hit" or decision.cache == "exact":
                    found[name].append(took)
    return found


async def batch_time(judge: Judge, count: int) -> float:
    """Microseconds a decision where ``count`` ask at once."""
    words = [of_text(f"a text of its own number {n}, please") for n in range(count)]
    started = perf_counter()
    await asyncio.gather(*(judge.decide(EMPTY, one, 0.0) for one in words))
    return (perf_counter() - started) * 1e6 / count


def report_times(embedder: Embedder, repeat: int) -> None:
    plain = [one for one in tests() if not one.has_image]
    judge = Judge(NOTHING, without_reflexes(matrix(threshold=0.0)), embedder)
    asyncio.run(judged(judge, plain[:1]))  # the model and the examples are loaded
    print(f"\n{'microseconds a decision':32}{'median':>9}{'p95':>9}")
    for name, figures in asyncio.run(times(judge, plain, repeat)).items():
        print(f"{name:32}{median(figures):9.1f}{quantiles(figures, n=20)[-1]:9.1f}")
    print(f"{'200 at once, one batch':32}{asyncio.run(batch_time(judge, 200)):9.1f}")


def run() -> None:
    main([])


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=5)
    repeat = parser.parse_args(arguments).repeat
    counted = sum(len(one.examples) + len(one.tests) for one in shipped())
    print(f"{counted} labelled prompts, of which {len(tests())} are tests and the others examples")
    print(f"{'accuracy':44}" + "".join(f"{name:>9}" for name in (*LANGUAGES, "all")))
    report_accuracy(
        "default intent alone", judged, Judge(NOTHING, without_reflexes(matrix()), None)
    )
    report_accuracy("reflexes and keywords, no embedder", judged, Judge(NOTHING, matrix(), None))
    embedder = WordLlama()
    try:
        asyncio.run(embedder.embed(["is it there"]))
    except EmbedderUnavailable as why:
        print(f"no further: {why}")
        return
    bare, nearest = without_reflexes(matrix()), without_reflexes(matrix(threshold=0.0))
    found = report_accuracy(
        "wordllama, nearest intent, reflexes off", judged, Judge(NOTHING, nearest, embedder)
    )
    report_accuracy(
        "wordllama, default threshold, reflexes off", judged, Judge(NOTHING, bare, embedder)
    )
    report_accuracy(
        "wordllama, nearest intent, reflexes on",
        judged,
        Judge(NOTHING, matrix(threshold=0.0), embedder),
    )
    report_accuracy(
        "wordllama, default threshold, reflexes on", judged, Judge(NOTHING, matrix(), embedder)
    )
    curve(found)
    report_times(embedder, repeat)


if __name__ == "__main__":
    main()
