"""The live board as its scripts read it again: made once for all who ask for the same at a time.

A change that pages cannot show from a frame makes every open console read its board within the
same second. Nothing in a board is one person's: it depends on the filters and on one right. Forms
in it come without a token; the page puts its own in.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import NamedTuple

from django.http import HttpRequest, HttpResponse

from routeradmin.console.board import Filter
from routeradmin.services import live
from routeradmin.services.runtime import Runtime

AFTER = "Routeradmin-After"  # PROCESS:SEQ that an answer has to have seen
KEPT_S = 1.0
MOST = 64  # filters in use at a time; more are made anew


class Asked(NamedTuple):
    wanted: Filter
    may_operate: bool
    may_configure: bool


@dataclass(slots=True)
class Board:
    """``body`` is compressed; ``seq`` and ``revision`` are what it has seen at least."""

    lock: Lock = field(default_factory=Lock)
    runtime: Runtime | None = None
    seq: int = -1
    revision: int = -1
    made_at: float = 0.0
    body: bytes = b""


_boards: dict[Asked, Board] = {}
_adding = Lock()


def answer(
    request: HttpRequest, runtime: Runtime, asked: Asked, make: Callable[[], str]
) -> HttpResponse:
    """The board in the coding that the browser takes; ``make`` renders it."""
    board = _place(asked)
    with board.lock:  # who comes second waits and takes what the first made
        if not _serves(board, runtime, _after(request, runtime)):
            board.runtime, board.made_at = runtime, runtime.clock()
            board.seq, board.revision = live.seq_of(runtime), runtime.current.revision
            board.body = gzip.compress(make().encode(), compresslevel=1)
        body = board.body
    if "gzip" not in request.headers.get("Accept-Encoding", ""):
        return HttpResponse(gzip.decompress(body))
    return HttpResponse(body, headers={"Content-Encoding": "gzip", "Vary": "Accept-Encoding"})


def _place(asked: Asked) -> Board:
    with _adding:
        if asked not in _boards and len(_boards) >= MOST:
            del _boards[next(iter(_boards))]
        return _boards.setdefault(asked, Board())


def _serves(board: Board, runtime: Runtime, after: int | None) -> bool:
    return (
        after is not None
        and board.runtime is runtime
        and board.revision == runtime.current.revision
        and board.seq >= after
        and runtime.clock() - board.made_at <= KEPT_S
    )


def _after(request: HttpRequest, runtime: Runtime) -> int | None:
    """The place that the answer has to have seen; None where only a new one will do."""
    process, _, seq = request.headers.get(AFTER, "").partition(":")
    if process != runtime.process_id or not (seq.isascii() and seq.isdigit()):
        return None
    return int(seq)
