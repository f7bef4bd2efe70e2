"""Workers behind one port: whichever a scraper meets, it gets the figures of all of them.

Each hands its page to the others over a unix socket of its own. Every sample says whose it is by
a ``worker`` label with a small number: figures of a worker that ended are missed as those of any
process that ended are, while a sum made here would fall and be taken for a restart of all.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from routeradmin.services.metering.text import head

if TYPE_CHECKING:
    from routeradmin.services.runtime import Runtime

ANSWER_LIMIT_S = 2.0  # a scraper gives up after ten
ANSWERS = "routeradmin_worker_answers"
_LABELLED = re.compile(rb"^(\w+)\{", re.MULTILINE)
_BARE = re.compile(rb"^(\w+) ", re.MULTILINE)
_FAMILY = b"# HELP "


class Siblings:
    """The worker ``number`` of those that have their sockets in ``directory``.

    ``tick`` opens its own, ``stop`` closes it.
    """

    def __init__(self, directory: Path, number: int) -> None:
        self.number = number
        self._directory = directory
        self._server: asyncio.Server | None = None

    @property
    def _path(self) -> Path:
        return self._directory / f"{self.number}.sock"

    async def tick(self, runtime: Runtime) -> None:
        """Raises OSError where the socket cannot be had."""
        if self._server is None:
            self._path.unlink(missing_ok=True)  # a worker of this number that was killed
            hand_out = _handing_out(runtime)
            self._server = await asyncio.start_unix_server(hand_out, self._path)

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            self._path.unlink(missing_ok=True)

    async def ask(self) -> dict[int, bytes | None]:
        """The others' pages by number; None of one that runs and does not answer."""
        numbers = {int(found.stem) for found in self._directory.glob("*.sock")} - {self.number}
        pages = await asyncio.gather(*(self._page(number) for number in sorted(numbers)))
        return dict(page for page in pages if page is not None)

    async def _page(self, number: int) -> tuple[int, bytes | None] | None:
        try:
            async with asyncio.timeout(ANSWER_LIMIT_S):
                path = self._directory / f"{number}.sock"
                reader, writer = await asyncio.open_unix_connection(path)
                try:
                    return number, await reader.read() or None
                finally:
                    writer.close()
        except TimeoutError:
            return number, None
        except OSError:  # it ended
            return None


HandOut = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def _handing_out(runtime: Runtime) -> HandOut:
    from routeradmin.services.metering.exposition import own_page

    async def hand_out(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            writer.write(await own_page(runtime, with_shared=False))
            await writer.drain()
        writer.close()

    return hand_out


def marked(text: bytes, number: int) -> bytes:
    """Every sample of ``text`` with the label of its worker; label values have no line ends."""
    text = _LABELLED.sub(rb'\1{worker="%d",' % number, text)
    return _BARE.sub(rb'\1{worker="%d"} ' % number, text)


def merged(pages: Sequence[bytes]) -> bytes:
    """One page with each family once, as the format wants it."""
    families: dict[bytes, list[bytes]] = {}
    for page in pages:
        for family in (b"\n" + page).split(b"\n" + _FAMILY)[1:]:
            help, kind, *samples = family.removesuffix(b"\n").split(b"\n", 2)
            families.setdefault(_FAMILY + help + b"\n" + kind, []).extend(samples)
    return b"".join(
        b"\n".join([opening, *filter(None, samples)]) + b"\n"
        for opening, samples in families.items()
    )


def roll_call(answered: dict[int, bool]) -> bytes:
    """Who answered; the figures of those that did not are missing from the page."""
    lines = [f'{ANSWERS}{{worker="{n}"}} {int(ok)}\n' for n, ok in sorted(answered.items())]
    return "".join([head(ANSWERS, "gauge", "0: its figures are missing here."), *lines]).encode()
