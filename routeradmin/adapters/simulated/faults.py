"""A step played on a call: the answer it makes, down to the bytes and the waits."""

from __future__ import annotations

import gzip
import zlib
from dataclasses import replace
from typing import NamedTuple

import orjson

from routeradmin.adapters.simulated import ask as asking
from routeradmin.adapters.simulated import errors, streaming
from routeradmin.adapters.simulated.ask import BROKEN_MARK, Ask, Json, ToolCall
from routeradmin.adapters.simulated.dialects import DIALECTS, id_header
from routeradmin.adapters.simulated.reply import EVENTS, JSON, Ending, Part, Reply, head
from routeradmin.adapters.simulated.script import Step
from routeradmin.adapters.simulated.text import answer_pieces, pieces_of

SECRET_MARK = b"{{secret}}"
HTML_PAGE = "<!doctype html><html><head><title>Gateway</title></head><body>Sign in</body></html>"
BODILESS = (204, 304)


class Made(NamedTuple):
    """A body before it is framed; no length where it goes out in chunks."""

    content_type: str
    payloads: list[bytes]
    length: int | None
    ending: Ending


def play(step: Step, ask: Ask, secret: str) -> Reply:
    """The reply of ``step`` to ``ask``; ``{{secret}}`` in given text becomes the caller's."""
    ask = _directed(step, ask)
    if step.cut is not None and step.cut[0] == "request":
        return Reply(None, b"", [], False, step.delay_ms / 1000, step.cut[1], instant=False)
    made = (_streamed if _streams(step, ask) else _plain)(step, ask, secret)
    if step.content_length is not None:
        ending = made.ending if step.content_length == made.length else step.how
        made = Made(made.content_type, made.payloads, step.content_length, ending)
    return Reply(
        step.status,
        _head(step, ask, made),
        _parts(step, made.payloads),
        made.length is None,
        step.delay_ms / 1000,
        made.ending,
        instant=_is_instant(step, made.ending),
    )


def _streamed(step: Step, ask: Ask, secret: str) -> Made:
    """An event stream, in chunks unless its length is declared."""
    payloads, ending = streaming.payloads(step, ask)
    payloads = [_spoiled(payload, secret) for payload in payloads]
    if step.gzip:
        payloads = _zipped(payloads, finish=ending == "done")
    return Made(EVENTS, payloads, None, ending)


def _plain(step: Step, ask: Ask, secret: str) -> Made:
    """A body in one piece, or broken off: its declared length is that of the whole."""
    content_type, body = _body(step, ask)
    body = _spoiled(body, secret)
    if step.gzip:
        body = gzip.compress(body, mtime=0)
    if step.cut is None:
        return Made(content_type, [body], len(body), "done")
    stage, how = step.cut
    kept = {"headers": b"", "end": body}.get(stage, body[: len(body) // 2])
    return Made(content_type, [kept], len(body), how)


def _directed(step: Step, ask: Ask) -> Ask:
    """The request with what the step says about the answer's content."""
    ask = replace(ask, usage=step.usage, finish_word=step.finish_reason, empty=step.empty_choices)
    if step.text is not None:
        ask.pieces, ask.tool_calls, ask.finish = pieces_of(step.text), [], "stop"
    elif step.words is not None:
        ask.pieces = answer_pieces(asking.prompt_of(ask.body), step.words)
        ask.tool_calls, ask.finish = [], "stop"
    if step.tool_calls is True:
        called = asking.tool_call(ask.body, None) or ToolCall("simulated", "{}")
        ask.tool_calls, ask.finish = [called], "tool"
    elif step.tool_calls:
        ask.tool_calls = [
            ToolCall(call.name, orjson.dumps(call.arguments).decode()) for call in step.tool_calls
        ]
        ask.finish = "tool"
    elif step.tool_calls is not None and ask.tool_calls:
        ask.pieces = answer_pieces(asking.prompt_of(ask.body))
        ask.tool_calls, ask.finish = [], "stop"
    if step.invalid_utf8 and ask.pieces:
        ask.pieces = [ask.pieces[0] + BROKEN_MARK, *ask.pieces[1:]]
    return ask


def _streams(step: Step, ask: Ask) -> bool:
    if step.chunks is not None:
        return True
    dialect = DIALECTS.get(ask.kind)
    canned = step.gives_body or step.html or step.status >= 300
    return ask.stream and not canned and dialect is not None and dialect.frames is not None


def _body(step: Step, ask: Ask) -> tuple[str, bytes]:
    """Content type and bytes of an answer that is not a stream."""
    if step.status in BODILESS:
        return JSON, b""
    if step.html:
        return "text/html; charset=utf-8", (
            step.html if step.html is not True else HTML_PAGE
        ).encode()
    raw = step.raw_body
    if raw is not None:
        return "text/plain; charset=utf-8", raw
    payload = orjson.dumps(_answer(step, ask))
    if step.invalid_utf8 and BROKEN_MARK.encode() not in payload:
        payload = payload.replace(b'":"', b'":"' + BROKEN_MARK.encode(), 1)
    return JSON, payload[: len(payload) // 2] if step.cut_json else payload


def _answer(step: Step, ask: Ask) -> Json:
    if step.gives_body:
        given: Json = step.body
        return given
    if step.status >= 300:
        return errors.body(ask.kind, step.status, streaming.words(step.error))
    if step.error_in_200:
        said = step.error if step.error_in_200 is True else step.error_in_200
        return errors.body(ask.kind, 500, streaming.words(said))
    return ask.body if ask.kind == "models" else DIALECTS[ask.kind].plain(ask)


def _spoiled(payload: bytes, secret: str) -> bytes:
    payload = payload.replace(BROKEN_MARK.encode(), b"\xff\xfe")
    return payload.replace(SECRET_MARK, secret.encode("utf-8", "surrogateescape"))


def _zipped(payloads: list[bytes], *, finish: bool) -> list[bytes]:
    packer = zlib.compressobj(wbits=16 + zlib.MAX_WBITS)
    out = [packer.compress(p) + packer.flush(zlib.Z_SYNC_FLUSH) for p in payloads]
    return [*out, packer.flush()] if finish else out


def _parts(step: Step, payloads: list[bytes]) -> list[Part]:
    gap_s = step.chunk_delay_ms / 1000
    if step.split:
        whole = b"".join(payloads)
        pieces = [whole[at : at + step.split] for at in range(0, len(whole), step.split)]
        return [Part(piece, gap_s if n else 0.0) for n, piece in enumerate(pieces)]
    own_s = [chunk.delay_ms / 1000 for chunk in step.chunks or ()]
    own_s += [0.0] * (len(payloads) - len(own_s))
    return [Part(payload, own_s[n] or (gap_s if n else 0.0)) for n, payload in enumerate(payloads)]


def _head(step: Step, ask: Ask, made: Made) -> bytes:
    auto = dict([("content-type", made.content_type), id_header(ask.kind, ask.serial)])
    if step.gzip:
        auto["content-encoding"] = "gzip"
    given = {name.lower(): value for name, value in step.headers.items()}
    headers = [(name, value) for name, value in auto.items() if name not in given]
    for name, value in given.items():
        if value is not None:
            headers += [(name, one) for one in ([value] if isinstance(value, str) else value)]
    if made.length is None:
        headers.append(("transfer-encoding", "chunked"))
    elif step.status not in BODILESS:
        headers.append(("content-length", str(made.length)))
    return head(step.status, headers)


def _is_instant(step: Step, ending: Ending) -> bool:
    waits = step.delay_ms or step.chunk_delay_ms or step.split or step.chunks
    return not waits and ending == "done"
