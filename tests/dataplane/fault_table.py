"""The table of faults: what an upstream does, and what has to come of it.

Every row is crossed with the protocols, with plain and streaming requests, and with routes of one
target and of two tiers. Two rounds a tier, so that a retried fault is met twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

PROTOCOLS = ("chat-completions", "messages", "responses", "completions")
HAS_TOOLS = ("chat-completions", "messages", "responses")
BRIEF_S = 0.15  # header and idle timeout, where silence has to be noticed


@dataclass(frozen=True)
class Expected:
    """``calls``: to the faulty target. ``halt`` and ``status`` where it is the only one; where
    there is a second, ``moves`` says whether it answers instead."""

    calls: int
    halt: str
    status: int
    code: str | None = None
    moves: bool = False
    visible: bool = False


RETRIED = Expected(2, "exhausted", 502, "upstream_error", moves=True)
LIMITED = Expected(2, "exhausted", 429, "rate_limit_exceeded", moves=True)
QUOTA = Expected(1, "exhausted", 429, "rate_limit_exceeded", moves=True)
ENDED = Expected(1, "ineligible-failure", 502, "upstream_error")
REJECTED = Expected(1, "ineligible-failure", 502, "upstream_auth_error")
VISIBLE = Expected(1, "visible-output", 200, "upstream_error", visible=True)
GOOD = Expected(1, "succeeded", 200)
NEVER_CALLED = Expected(0, "exhausted", 502, "upstream_error", moves=True)


def callers(status: int) -> Expected:
    return Expected(1, "ineligible-failure", status)


STATUSES: dict[int, Expected] = {
    **dict.fromkeys((408, 500, 502, 503, 504), RETRIED),
    429: LIMITED,
    402: QUOTA,
    401: REJECTED,
    403: REJECTED,
    404: ENDED,
    **{status: callers(status) for status in (400, 409, 413, 422)},
}
STAGES = ("request", "headers", "role", "text", "tool", "end")


@dataclass(frozen=True)
class Cell:
    """One request against one fault."""

    name: str
    protocol: str
    stream: bool
    step: dict[str, Any]
    expected: Expected
    tools: bool = False
    refused: bool = False  # the upstream's port is closed
    fields: dict[str, Any] = field(default_factory=dict)

    @property
    def silent(self) -> bool:
        return self.step.get("how") == "silence"

    @property
    def id(self) -> str:
        return f"{self.protocol}-{'stream' if self.stream else 'plain'}-{self.name}"


def cells() -> Iterator[Cell]:
    for protocol in PROTOCOLS:
        for stream in (False, True):
            yield from _answers(protocol, stream)
            yield from _breaks(protocol, stream)
            yield from _contents(protocol, stream)


def _answers(protocol: str, stream: bool) -> Iterator[Cell]:
    for status, expected in STATUSES.items():
        yield Cell(f"{status}", protocol, stream, {"status": status}, expected)
        yield Cell(f"{status}-page", protocol, stream, {"status": status, "html": True}, expected)
    for name, value in (("retry-after", "20"), ("retry-after-ms", "300"), ("retry-after", "soon")):
        step = {"status": 429, "headers": {name: value}}
        yield Cell(f"429-{name}-{value}", protocol, stream, step, LIMITED)
    step = {"status": 302, "headers": {"location": "http://127.0.0.1:9/"}}
    yield Cell("302", protocol, stream, step, ENDED)
    yield Cell("refused", protocol, stream, {}, NEVER_CALLED, refused=True)


def _breaks(protocol: str, stream: bool) -> Iterator[Cell]:
    for stage in STAGES:
        if stage == "tool" and protocol not in HAS_TOOLS:
            continue
        if stage == "role" and protocol == "completions":
            continue  # its streams begin with text
        for how in ("close", "reset", "silence"):
            step = {"break_after": stage, "how": how}
            expected = _broken(protocol, stream, stage, how)
            tools = stage == "tool"
            if tools:
                step["tool_calls"] = True
            yield Cell(f"{how}-after-{stage}", protocol, stream, step, expected, tools)


def _broken(protocol: str, stream: bool, stage: str, how: str) -> Expected:
    if stage in ("request", "headers"):
        return RETRIED
    if not stream:
        # A plain answer breaks after its last byte or in its middle.
        return GOOD if stage == "end" else RETRIED
    if stage == "end" and protocol in ("chat-completions", "completions"):
        return GOOD  # every choice has its finish reason
    return VISIBLE


def _contents(protocol: str, stream: bool) -> Iterator[Cell]:
    openai_choices = protocol in ("chat-completions", "completions")
    # The completions protocol has no role chunk: the frame that is cut is the first.
    cut = RETRIED if protocol == "completions" else VISIBLE
    rows: list[tuple[str, dict[str, Any], Expected]] = [
        ("html", {"html": True}, RETRIED),
        ("error-object", {"error_in_200": True}, RETRIED),
        ("empty", {"empty_choices": True}, RETRIED if openai_choices else GOOD),
        ("slow-drip", {"chunk_delay_ms": 5, "words": 6}, GOOD),
        ("split", {"split": 3, "words": 6}, GOOD),
        ("gzip", {"gzip": True}, GOOD),
        ("limited-object", {"error_in_200": {"code": "rate_limit_exceeded"}}, LIMITED),
    ]
    if not stream:
        rows += [
            ("cut-json", {"cut_json": True}, RETRIED),
            ("invalid-utf8", {"invalid_utf8": True}, RETRIED),
        ]
    else:
        rows += [
            ("comments", {"comments": True}, GOOD),
            ("crlf", {"crlf": True}, GOOD),
            ("cut-json", {"cut_json": True}, cut),
            ("invalid-utf8", {"invalid_utf8": True}, cut),
            ("no-end", {"no_finish": True, "no_done": True}, VISIBLE),
            ("no-mark", {"no_done": True}, GOOD if openai_choices else VISIBLE),
            ("no-finish", {"no_finish": True}, GOOD),
            ("two-marks", {"double_done": True}, GOOD),
        ]
        stages = ["text", "end"] if protocol == "completions" else ["role", "text", "end"]
        rows += [
            (f"error-after-{stage}", {"error_in_200": True, "error_after": stage}, VISIBLE)
            for stage in stages
        ]
    for name, step, expected in rows:
        yield Cell(name, protocol, stream, step, expected)
    if stream and protocol in HAS_TOOLS:
        step = {"error_in_200": True, "error_after": "tool", "tool_calls": True}
        yield Cell("error-after-tool", protocol, stream, step, VISIBLE, tools=True)
