"""Faults inside an event stream: what is left out, doubled, cut or broken off."""

from __future__ import annotations

from routeradmin.adapters.simulated import errors
from routeradmin.adapters.simulated.ask import Ask, Frame, Json
from routeradmin.adapters.simulated.dialects import DIALECTS
from routeradmin.adapters.simulated.reply import Ending
from routeradmin.adapters.simulated.script import Chunk, ErrorWords, Step

COMMENT = b": keep-alive\n\n"
Words = ErrorWords | bool | None


def payloads(step: Step, ask: Ask) -> tuple[list[bytes], Ending]:
    """The pieces of the stream as the step leaves them, and how it ends."""
    if step.chunks is not None:
        return _given(step, step.chunks)
    frames = DIALECTS[ask.kind].frames
    events = _altered(step, frames(ask) if frames else [])
    if step.error_in_200:
        kept = _until(step.error_after, step.break_nth, events)
        out = [frame.payload for frame in kept]
        out.append(errors.frame(ask, _said(step), len(kept)))
        ending: Ending = "done"
    else:
        stage, ending = (None, "done") if step.cut is None else step.cut
        kept = events if stage is None else _until(stage, step.break_nth, events)
        out = [frame.payload for frame in kept]
    if step.comments:
        out = [piece for payload in out for piece in (COMMENT, payload)]
    return [payload.replace(b"\n", b"\r\n") for payload in out] if step.crlf else out, ending


def words(said: Words) -> Json:
    """The words a step puts into an error."""
    return said.model_dump(exclude_unset=True) if isinstance(said, ErrorWords) else {}


def _said(step: Step) -> Json:
    return words(step.error if step.error_in_200 is True else step.error_in_200)


def _given(step: Step, chunks: list[Chunk]) -> tuple[list[bytes], Ending]:
    """Chunks written by hand; every stage but the headers and the end means the nth of them."""
    out = [chunk.payload for chunk in chunks]
    if step.cut is None:
        return out, "done"
    stage, how = step.cut
    keep = {"headers": 0, "end": len(out)}.get(stage, step.break_nth)
    return out[:keep], how


def _altered(step: Step, frames: list[Frame]) -> list[Frame]:
    dropped = [
        stage for stage, drop in (("finish", step.no_finish), ("done", step.no_done)) if drop
    ]
    kept = [frame for frame in frames if frame.stage not in dropped]
    if step.double_done:
        kept += [frame for frame in kept if frame.stage == "done"]
    if step.cut_json:
        at = next((n for n, frame in enumerate(kept) if frame.stage in ("text", "tool")), 0)
        whole = kept[at].payload
        kept[at] = Frame(kept[at].stage, whole[: len(whole) // 2] + b"\n\n")
    return kept


def _until(stage: str | None, nth: int, frames: list[Frame]) -> list[Frame]:
    """The frames up to the nth of a stage; ``end`` is the last before usage and the end mark.

    Nothing for ``headers`` and None. A stage that never comes lets everything through.
    """
    if stage in (None, "headers"):
        return []
    if stage == "end":
        return [frame for frame in frames if frame.stage not in ("usage", "done")]
    places = [n for n, frame in enumerate(frames) if frame.stage == stage]
    return frames[: places[nth - 1] + 1] if len(places) >= nth else frames
