"""The script language: which calls it is for, and what each of them meets.

Everything is optional; a name that is not known is refused, so that a mistyped fault never passes
for a working one. docs/simulated-provider.md says what each field does.
"""

from __future__ import annotations

from base64 import b64decode
from typing import Annotated, Any, Literal

from pydantic import Base64Bytes, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from routeradmin.adapters.simulated.calls import fingerprint

Kind = Literal[
    "chat", "completions", "responses", "embeddings", "messages", "count_tokens", "models"
]
Break = Literal["request", "headers", "role", "text", "tool", "end"]
How = Literal["close", "reset", "silence"]
Milliseconds = Annotated[float, Field(ge=0, le=3_600_000)]

FRAMING_HEADERS = frozenset({"content-length", "transfer-encoding"})
SHORTEST_WHOLE_SECRET = 13


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Chunk(Strict):
    """Bytes written as one piece of the body, after a wait of their own."""

    text: str | None = None
    base64: Base64Bytes | None = None
    delay_ms: Milliseconds = 0

    @property
    def payload(self) -> bytes:
        return (self.text or "").encode() if self.base64 is None else self.base64


class ErrorWords(Strict):
    """What an error body says instead of the words its status suggests."""

    message: str | None = None
    type: str | None = None
    code: str | None = None
    param: str | None = None


class Call(Strict):
    """A tool call that the answer makes."""

    name: str
    arguments: dict[str, Any] = {}


def _as_chunk(value: Any) -> Any:
    return {"text": value} if isinstance(value, str) else value


class Step(Strict):
    """What one call, or ``times`` calls in a row, meet."""

    times: int = Field(1, ge=1, le=100_000)

    status: int = Field(200, ge=200, le=599)
    headers: dict[str, str | list[str] | None] = {}
    body: Any = None
    error: ErrorWords | None = None
    error_in_200: bool | ErrorWords = False
    error_after: Literal["role", "text", "tool", "end"] | None = None
    html: bool | str = False
    gzip: bool = False
    content_length: int | None = Field(None, ge=0)

    text: str | None = None
    words: int | None = Field(None, ge=0, le=100_000)
    tool_calls: bool | list[Call] | None = None
    finish_reason: str | None = None
    usage: dict[str, Any] | None = {}

    delay_ms: Milliseconds = 0
    chunk_delay_ms: Milliseconds = 0
    chunks: list[Annotated[Chunk, BeforeValidator(_as_chunk)]] | None = None
    split: int | None = Field(None, ge=1)

    refuse: bool = False
    silence: bool = False
    reset: bool | Break = False
    break_after: Break | None = None
    break_nth: int = Field(1, ge=1)
    how: How = "close"

    cut_json: bool = False
    empty_choices: bool = False
    invalid_utf8: bool = False
    no_finish: bool = False
    no_done: bool = False
    double_done: bool = False
    comments: bool = False
    crlf: bool = False

    @model_validator(mode="after")
    def _check_errors(self) -> Step:
        if self.error and self.status < 300 and self.error_in_200 is not True:
            raise ValueError("error: give it a status of 300 or more, or error_in_200 true")
        if self.error_after and not self.error_in_200:
            raise ValueError("error_after: it places what error_in_200 sends, so set that too")
        return self

    @model_validator(mode="after")
    def _check_body(self) -> Step:
        try:
            _ = self.raw_body
        except ValueError as problem:
            raise ValueError(f"body.base64: {problem}") from problem
        return self

    @model_validator(mode="after")
    def _check_headers(self) -> Step:
        framing = FRAMING_HEADERS & {name.lower() for name in self.headers}
        if framing:
            raise ValueError(
                f"{', '.join(sorted(framing))}: use content_length instead of a header"
            )
        return self

    @property
    def cut(self) -> tuple[Break, How] | None:
        """Where the answer stops early, and how; None for an answer that is finished."""
        if self.silence:
            return "request", "silence"
        if self.refuse:
            return "request", "close"
        if self.reset:
            return ("request" if self.reset is True else self.reset), "reset"
        return None if self.break_after is None else (self.break_after, self.how)

    @property
    def raw_body(self) -> bytes | None:
        """The body where it is given as text or bytes rather than as JSON."""
        if isinstance(self.body, str):
            return self.body.encode()
        if isinstance(self.body, dict) and self.body.keys() == {"base64"}:
            return b64decode(str(self.body["base64"]), validate=True)
        return None

    @property
    def gives_body(self) -> bool:
        return "body" in self.model_fields_set


class Rates(Strict):
    """Faults by share and by minute, which come before the steps."""

    rate_limit_every: int | None = Field(None, ge=1)
    fail_rate: float = Field(0, ge=0, le=1)
    fail_status: int = Field(500, ge=400, le=599)
    rpm: int | None = Field(None, ge=0)
    retry_after_s: int | None = Field(None, ge=0)
    latency_ms: tuple[Milliseconds, Milliseconds] | None = None
    seed: int = 0


def _without_secret(value: Any) -> Any:
    """A whole secret is kept as its fingerprint; what is shorter is the end of one."""
    whole = isinstance(value, str) and len(value) >= SHORTEST_WHOLE_SECRET
    return fingerprint(value) if whole else value


class Script(Strict):
    """Steps and rates for the calls of one model, or of those that the rest narrows."""

    model: str = "*"
    credential: Annotated[str | None, BeforeValidator(_without_secret)] = None
    prefix: str | None = None
    kind: Kind | Literal["*"] | None = None
    steps: list[Step] = []
    repeat: Literal["last", "cycle", "once"] = "last"
    rates: Rates | None = None

    @property
    def match(self) -> tuple[str | None, ...]:
        """What a later script of the same calls replaces."""
        return self.model, self.credential, self.prefix, self.kind
