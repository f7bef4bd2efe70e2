"""Pages of several workers made into one."""

from __future__ import annotations

import asyncio
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from routeradmin.services.metering import siblings
from routeradmin.services.metering.exposition import exposition
from routeradmin.services.metering.siblings import Siblings, marked, merged
from routeradmin.services.runtime import Runtime

PAGE = b"""# HELP a_total Things.
# TYPE a_total counter
a_total{id="x # HELP y"} 1
# HELP b Bare.
# TYPE b gauge
b 2.5e+06
"""


def test_every_sample_gets_its_worker_and_nothing_else_changes() -> None:
    text = marked(PAGE, 3).decode()
    assert text == PAGE.decode().replace('{id="x', '{worker="3",id="x').replace(
        "b 2.5e+06", 'b{worker="3"} 2.5e+06'
    )


def test_families_come_once_with_the_samples_of_all() -> None:
    text = merged([marked(PAGE, 1), marked(PAGE, 2), b""]).decode()
    assert text.count("# TYPE a_total") == text.count("# HELP b ") == 1
    found = {
        (sample.name, sample.labels["worker"]): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    assert found == {("a_total", n): 1 for n in "12"} | {("b", n): 2.5e6 for n in "12"}


def test_a_family_without_samples_still_has_its_head() -> None:
    empty = b"# HELP a_total Things.\n# TYPE a_total counter\n"
    assert merged([empty, empty]) == empty


def test_one_that_hangs_is_told_and_one_that_ended_is_not(
    bare_runtime: Runtime, tmp_path: Path
) -> None:
    async def story() -> str:
        async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read()
            writer.close()
            await writer.wait_closed()
            hung_up.set()

        hung_up = asyncio.Event()
        own, other = Siblings(tmp_path, 1), Siblings(tmp_path, 2)
        bare_runtime.siblings = own
        await other.tick(bare_runtime)
        hanging = await asyncio.start_unix_server(hang, tmp_path / "3.sock")
        ended = await asyncio.start_unix_server(hang, tmp_path / "4.sock")
        ended.close()
        text = (await exposition(bare_runtime)).decode()
        await hung_up.wait()
        hanging.close()
        await other.stop()
        return text

    lines = [line for line in asyncio.run(story()).splitlines() if siblings.ANSWERS in line]
    assert lines[2:] == [
        f'{siblings.ANSWERS}{{worker="{n}"}} {ok}' for n, ok in ((1, 1), (2, 1), (3, 0))
    ]
