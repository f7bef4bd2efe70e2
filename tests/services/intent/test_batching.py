"""One call for all that ask in one tick."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from routeradmin.services.intent.batching import Batcher, Once


class Echo:
    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def __call__(self, texts: Sequence[str]) -> Any:
        self.batches.append(list(texts))
        await self.gate.wait()
        return [text.upper() for text in texts]


def test_each_gets_its_own_and_the_next_batch_gathers_meanwhile(runner: asyncio.Runner) -> None:
    async def play() -> tuple[list[str], list[list[str]]]:
        echo = Echo()
        batcher = Batcher(echo)
        echo.gate.clear()
        first = [asyncio.create_task(batcher.vector(text)) for text in ("a", "b")]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        later = [asyncio.create_task(batcher.vector(text)) for text in ("c", "d", "e")]
        await asyncio.sleep(0)
        echo.gate.set()
        return list(await asyncio.gather(*first, *later)), echo.batches

    found, batches = runner.run(play())
    assert found == ["A", "B", "C", "D", "E"]
    assert batches == [["a", "b"], ["c", "d", "e"]]


def test_a_failure_reaches_everybody_of_the_batch_and_nobody_after(runner: asyncio.Runner) -> None:
    async def broken(texts: Sequence[str]) -> Any:
        if "bad" in texts:
            raise ValueError("no")
        return list(texts)

    async def play() -> list[Any]:
        batcher = Batcher(broken)
        both = await asyncio.gather(
            batcher.vector("bad"), batcher.vector("good"), return_exceptions=True
        )
        return [*both, await batcher.vector("good")]

    first, second, third = runner.run(play())
    assert isinstance(first, ValueError)
    assert isinstance(second, ValueError)
    assert third == "good"


def test_one_who_gives_up_does_not_spoil_it_for_the_others(runner: asyncio.Runner) -> None:
    async def play() -> str:
        echo = Echo()
        batcher = Batcher(echo)
        echo.gate.clear()
        gone = asyncio.create_task(batcher.vector("a"))
        stays = asyncio.create_task(batcher.vector("b"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        gone.cancel()
        echo.gate.set()
        return str(await stays)

    assert runner.run(play()) == "B"


def test_it_works_on_one_event_loop_after_another() -> None:
    async def echo(texts: Sequence[str]) -> Any:
        return list(texts)

    batcher = Batcher(echo)
    assert [asyncio.run(batcher.vector(text)) for text in "ab"] == ["a", "b"]


def test_too_few_vectors_are_an_error(runner: asyncio.Runner) -> None:
    async def short(texts: Sequence[str]) -> Any:
        return []

    with pytest.raises(ValueError, match="0 vectors"):
        runner.run(Batcher(short).vector("a"))


def test_who_asks_while_a_call_is_under_way_shares_it(runner: asyncio.Runner) -> None:
    async def play() -> tuple[list[Any], int]:
        echo = Echo()
        echo.gate.clear()
        once = Once(lambda: echo(["x"]))
        asked = [asyncio.create_task(once()) for _ in range(5)]
        await asyncio.sleep(0)
        asked[0].cancel()
        await asyncio.sleep(0)
        echo.gate.set()
        found = await asyncio.gather(*asked, return_exceptions=True)
        await once()
        return found, len(echo.batches)

    found, calls = runner.run(play())
    assert isinstance(found[0], asyncio.CancelledError)
    assert found[1:] == [["X"]] * 4
    assert calls == 2, "one for all five, one for who came later"


def test_a_shared_call_that_fails_is_made_again_for_the_next(runner: asyncio.Runner) -> None:
    answers = iter([ValueError("no"), ["x"]])

    async def once_broken() -> Any:
        await asyncio.sleep(0)
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def play() -> list[Any]:
        once = Once(once_broken)
        both = await asyncio.gather(once(), once(), return_exceptions=True)
        return [*both, await once()]

    first, second, third = runner.run(play())
    assert isinstance(first, ValueError)
    assert isinstance(second, ValueError)
    assert third == ["x"]
