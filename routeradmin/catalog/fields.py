"""Types of the document's fields: what each text and number may hold.

Messages name the rule and never the value. Text is stored in Unicode form NFC without
surrounding space, so that two spellings of one name are one name.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from routeradmin.web_url import UrlRefused, parse_base_url

MAX_NAME_BYTES = 256
MAX_TEXT_BYTES = 4096
MAX_HEADER_NAME_BYTES = 128
MAX_INT = 2**63 - 1  # what TOML and a database integer hold
MAX_WEIGHT = 2**31 - 1
MAX_SECONDS = 10**9

HEADER_NAME_CHARACTERS = frozenset(
    "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
)
REFUSED_KEY_HEADERS = frozenset(
    {
        "host",
        "content-type",
        "content-length",
        "content-encoding",
        "transfer-encoding",
        "connection",
        "upgrade",
        "te",
        "trailer",
        "accept",
        "accept-encoding",
        "proxy-authorization",
        "cookie",
    }
)
# What would override the credential, name another client, or end at the next hop.
REFUSED_EXTRA_HEADERS = REFUSED_KEY_HEADERS | {
    "authorization",
    "api-key",
    "x-api-key",
    "x-goog-api-key",
    "set-cookie",
    "keep-alive",
    "expect",
    "forwarded",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "idempotency-key",
}
# Cc control, Cs surrogate, Zl and Zp line and paragraph separators: they break lines and logs.
REFUSED_CATEGORIES = frozenset({"Cc", "Cs", "Zl", "Zp"})

STRATEGIES = (
    "simple_shuffle",
    "round_robin",
    "least_busy",
    "latency_based",
    "priority_based",
    "usage_based",
    "rate_limit_aware",
    "fill_first",
)
STRATEGY_SPELLINGS = {
    "round-robin": "round_robin",
    "cost_based": "priority_based",
    "fill-first": "fill_first",
    "ff": "fill_first",
}
CUSTOM_STRATEGY = "custom:"


def refuse(kind: str, message: str) -> PydanticCustomError:
    return PydanticCustomError(kind, message)


def is_ident(text: str) -> bool:
    """llm.catalog/1's identifier rule: 1 to 256 bytes of printable ASCII without space."""
    return (
        1 <= len(text) <= MAX_NAME_BYTES
        and text.isascii()
        and text.isprintable()
        and (" " not in text)
    )


def clean(text: str) -> str:
    """The one spelling of a name: NFC, no surrounding space."""
    return unicodedata.normalize("NFC", text).strip()


def _ident(text: str) -> str:
    if not is_ident(text):
        raise refuse("ident", "must be 1 to 256 bytes of printable ASCII without spaces")
    return text


def _text(limit: int, *, empty: bool) -> Callable[[str], str]:
    def check(text: str) -> str:
        if not text.isascii() or not text.isprintable():
            if any(unicodedata.category(character) in REFUSED_CATEGORIES for character in text):
                raise refuse("text", "must not hold control characters or line breaks")
            text = unicodedata.normalize("NFC", text)
        text = text.strip()
        if not text and not empty:
            raise refuse("text", "must not be empty")
        if len(text.encode()) > limit:
            raise refuse("text", f"must be at most {limit} bytes long")
        return text

    return check


def _pattern(text: str) -> str:
    if text.count("*") > 1:
        raise refuse("pattern", "may hold one * at most")
    return text


def _strategy(text: str) -> str:
    text = STRATEGY_SPELLINGS.get(text, text)
    custom = text.startswith(CUSTOM_STRATEGY) and is_ident(text) and text != CUSTOM_STRATEGY
    if text not in STRATEGIES and not custom:
        raise refuse("strategy", f"must be one of {', '.join(STRATEGIES)} or custom:<name>")
    return text


def _base_url(text: str) -> str:
    try:
        return str(parse_base_url(text))
    except UrlRefused as why:
        raise refuse("url", str(why)) from None


def _proxy_url(text: str) -> str:
    url = _base_url(text)
    if parse_base_url(url).path != "/":
        raise refuse("url", "a proxy has no path: give scheme, host and port only")
    return url.removesuffix("/")


def _header_name(text: str) -> str:
    if not 1 <= len(text) <= MAX_HEADER_NAME_BYTES or not HEADER_NAME_CHARACTERS.issuperset(text):
        raise refuse("header", "must be a header name of at most 128 bytes")
    return text.lower()


def _key_header(text: str) -> str:
    text = _header_name(text)
    if text in REFUSED_KEY_HEADERS:
        raise refuse("header", "must not be a header that the connection itself uses")
    return text


def _extra_header(text: str) -> str:
    text = _header_name(text)
    if text in REFUSED_EXTRA_HEADERS or text.startswith(("proxy-", "sec-")):
        raise refuse(
            "header",
            "must carry no secret and steer no connection: a key belongs to the account",
        )
    return text


def _effort(text: str) -> str:
    if not text or len(text.encode(errors="replace")) > MAX_NAME_BYTES or not text.isprintable():
        raise refuse("effort", "must be 1 to 256 bytes without control characters")
    return text


def _header_value(text: str) -> str:
    if not text.isascii() or not text.isprintable() or len(text) > MAX_TEXT_BYTES:
        raise refuse("header", "must be printable ASCII of at most 4096 bytes")
    return text.strip()


def _file_path(text: str) -> str:
    if not text.startswith("/") or not text.isprintable() or len(text.encode()) > MAX_TEXT_BYTES:
        raise refuse("path", "must be an absolute path of at most 4096 bytes")
    return text


def _request_path(text: str) -> str:
    if (
        not text.isascii()
        or not text.isprintable()
        or not 1 <= len(text) <= MAX_TEXT_BYTES
        or (" " in text or "://" in text or text.startswith("//") or ".." in text or "#" in text)
    ):
        raise refuse("path", "must be a path below the base URL, without .. and spaces")
    return text


def _instant(value: Any) -> Any:
    """An RFC 3339 text or a TOML date-time with its offset, kept in UTC with milliseconds."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise refuse("instant", "must be a time such as 2026-01-01T00:00:00Z") from None
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise refuse("instant", "must name its offset from UTC, such as Z")
        try:
            value = value.astimezone(UTC)
        except OverflowError:
            raise refuse("instant", "must lie between the years 1 and 9999") from None
        value = value.replace(microsecond=value.microsecond // 1000 * 1000)
    return value


def _one_or_more(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


Ident = Annotated[str, AfterValidator(_ident)]
Name = Annotated[str, AfterValidator(_text(MAX_NAME_BYTES, empty=False))]
Text = Annotated[str, AfterValidator(_text(MAX_TEXT_BYTES, empty=True))]
Words = Annotated[str, AfterValidator(_text(MAX_TEXT_BYTES, empty=False))]
AliasName = Annotated[Name, AfterValidator(_pattern)]
UpstreamName = Annotated[Ident, AfterValidator(_pattern)]
Strategy = Annotated[str, AfterValidator(_strategy)]
BaseUrl = Annotated[str, AfterValidator(_base_url)]
ProxyUrl = Annotated[str, AfterValidator(_proxy_url)]
HeaderName = Annotated[str, AfterValidator(_header_name)]
KeyHeader = Annotated[str, AfterValidator(_key_header)]
ExtraHeader = Annotated[str, AfterValidator(_extra_header)]
Effort = Annotated[str, AfterValidator(_effort)]
HeaderValue = Annotated[str, AfterValidator(_header_value)]
FilePath = Annotated[str, AfterValidator(_file_path)]
RequestPath = Annotated[str, AfterValidator(_request_path)]
Instant = Annotated[datetime, BeforeValidator(_instant)]

Count = Annotated[int, Field(ge=0, le=MAX_INT)]
Positive = Annotated[int, Field(ge=1, le=MAX_INT)]
Weight = Annotated[int, Field(ge=0, le=MAX_WEIGHT)]
Position = Annotated[int, Field(ge=0, le=MAX_WEIGHT)]
Seconds = Annotated[float, Field(ge=0, le=MAX_SECONDS)]
SomeSeconds = Annotated[float, Field(gt=0, le=MAX_SECONDS)]
Price = Annotated[float, Field(ge=0, le=10**9)]

# A sequence is read from any list; its members stay strict.
Efforts = Annotated[tuple[Effort, ...], Field(strict=False)]
Idents = Annotated[tuple[Ident, ...], Field(strict=False)]
Tags = Annotated[tuple[Name, ...], Field(strict=False)]
Names = Annotated[tuple[Name, ...], Field(strict=False)]
TextList = Annotated[tuple[Words, ...], Field(strict=False)]
OneOrMore = Annotated[tuple[Name, ...], Field(strict=False), BeforeValidator(_one_or_more)]
Headers = dict[ExtraHeader, HeaderValue]

AdminState = Literal["enabled", "draining", "disabled"]
AuthKind = Literal["anonymous", "bearer", "api-key", "subscription-oauth"]
BillingKind = Literal["metered", "subscription", "self-hosted"]
Protocol = Literal["responses", "messages", "chat-completions", "completions", "embeddings"]
Protocols = Annotated[tuple[Protocol, ...], Field(strict=False)]
WhenExhausted = Literal["fail", "wait", "least_bad"]
ProbeMode = Literal["off", "models", "chat"]
FailureClass = Literal[
    "rate-limited",
    "quota",
    "unauthorized",
    "not-found",
    "transient",
    "content-policy",
    "context-window",
    "caller",
    "refused",
]
