"""Reading what providers put into an error: every shape they are known to use, and any other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_CODE_KEYS = ("code", "type", "status", "__type", "reason", "error_type")
_MESSAGE_KEYS = ("message", "detail", "error_description", "msg")
TEXT_LIMIT = 20_000  # characters looked at; an error that says more says it earlier


@dataclass(frozen=True, slots=True)
class ErrorBody:
    """``codes`` in lower case, most specific place first; ``status`` where a code is a number."""

    codes: tuple[str, ...] = ()
    status: int | None = None
    text: str = ""


def read(document: object, text: str = "", headers: Mapping[str, str] | None = None) -> ErrorBody:
    """Codes, status and text of an error answer. Never raises.

    ``document`` is the parsed JSON, if it was JSON; ``text`` the raw body, searched for known
    phrases.
    """
    codes: list[str] = []
    texts: list[str] = []
    for part in _parts(document):
        codes += [code for key in _CODE_KEYS if (code := _code(part.get(key)))]
        texts += [said for key in _MESSAGE_KEYS if isinstance(said := part.get(key), str)]
    if isinstance(document, Mapping) and isinstance(said := document.get("error"), str):
        texts.append(said)
        codes.append(said.strip().lower()[:200])
    for name, value in (headers or {}).items():
        if str(name).lower() == "x-amzn-errortype" and (code := _code(value)):
            codes.append(code)
    status = next((int(code) for code in codes if _is_status(code)), None)
    whole = (text or "\n".join(texts))[:TEXT_LIMIT].lower()
    return ErrorBody(tuple(dict.fromkeys(codes)), status, whole)


def _parts(document: object) -> Iterator[Mapping[object, object]]:
    """The objects that may hold a code, from the innermost known place outwards."""
    if isinstance(document, list) and document:  # Gemini wraps streamed errors in a list
        document = document[0]
    if not isinstance(document, Mapping):
        return
    for key in (
        "error",
        "response",
        "Error",
    ):  # Responses API: response.failed holds response.error
        error = document.get(key)
        if isinstance(error, Mapping):
            nested = error.get("error")
            if isinstance(nested, Mapping):
                yield nested
            inner = error.get("innererror") or error.get("inner_error")
            if isinstance(inner, Mapping):
                yield inner
            details = error.get("details")
            for detail in details[:20] if isinstance(details, list) else ():
                if isinstance(detail, Mapping):
                    yield detail
            yield error
    yield document


def _code(value: object) -> str:
    """A code as lower-case text; ``com.amazon...#Name:http://...`` is ``name``."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return ""
    text = str(value)[:200] if isinstance(value, str) else str(value % 10**9)
    return text.rpartition("#")[2].partition(":")[0].strip().lower()


def _is_status(code: str) -> bool:
    return len(code) == 3 and code.isascii() and code.isdigit() and code >= "300"
