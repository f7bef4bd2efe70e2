"""Takes secrets out of text that came from outside.

Known secrets are found by any 8 consecutive bytes of them: every 8-byte window holds one 4-byte
word at a multiple of 4, so the text's words are first tried, all at once, against the words of
the secrets; only where one fits are the windows around it looked at. Most texts end there.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from urllib.parse import quote

from routeradmin.adapters.redaction_patterns import without_patterns
from routeradmin.adapters.sealing import MASK, Secret

MAX_TEXT_CHARS = 2000
WINDOW = 8
PARTIAL_FROM = 12  # a secret of this many bytes is recognised by any part of WINDOW bytes
WHOLE_FROM = 4  # shorter ones than this are not told from ordinary text

_MASK = MASK.encode()

Span = tuple[int, int]


class Redactor:
    """Knows a set of secrets; make a new one when they change.

    Secrets of 12 bytes or more go with every run of 8 bytes of theirs, shorter ones (from 4) where
    they stand whole; also in their URL-quoted and JSON-escaped spellings.
    """

    def __init__(self, secrets: Iterable[Secret | str]) -> None:
        spellings = {form for secret in secrets for form in _spellings(secret)}
        long = [form for form in spellings if len(form) >= PARTIAL_FROM]
        short = [form for form in spellings if WHOLE_FROM <= len(form) < PARTIAL_FROM]
        self._windows = frozenset(
            form[i : i + WINDOW] for form in long for i in range(len(form) - WINDOW + 1)
        )
        self._words = frozenset(
            int.from_bytes(form[i : i + 4], sys.byteorder)
            for form in long
            for i in range(len(form) - 3)
        )
        # Looking ahead finds occurrences that overlap, wherever the text begins.
        longest_first = sorted(short, key=len, reverse=True)
        self._whole = re.compile(b"(?=(%s))" % b"|".join(map(re.escape, longest_first)))
        self._has_whole = bool(short)

    def __repr__(self) -> str:
        return "Redactor(***)"

    def redact(self, data: bytes) -> bytes:
        """The data without known secrets; the same object where there are none."""
        spans = self.spans(data)
        return _masked(data, spans) if spans else data

    def text(self, text: str, max_chars: int = MAX_TEXT_CHARS) -> str:
        """Fit for a log line or a record: no known secret, nothing that looks like one, and not
        longer than `max_chars` (an ellipsis shows the cut), and without NUL characters, which
        not every database keeps."""
        # A little more than is kept, so that no secret becomes unrecognisable at the cut.
        head = text[: max_chars + 512]
        known = self.redact(head.encode("utf-8", "replace")).decode("utf-8", "replace")
        clean = without_patterns(known).replace("\0", "\ufffd")
        if len(clean) > max_chars or len(text) > len(head):
            return clean[: max_chars - 1] + "…"
        return clean

    def spans(self, data: bytes) -> list[Span]:
        """Where known secrets and parts of them are, merged, in order."""
        found: list[Span] = []
        words = memoryview(data)[: len(data) & ~3].cast("I")
        if not self._words.isdisjoint(words):
            for index, word in enumerate(words):
                if word in self._words:
                    self._look_around(data, 4 * index, found)
        if self._has_whole:
            found += [match.span(1) for match in self._whole.finditer(data)]
            found.sort()
        return _merged(found)

    def _look_around(self, data: bytes, word_at: int, found: list[Span]) -> None:
        for start in range(max(0, word_at - 3), word_at + 1):
            if data[start : start + WINDOW] in self._windows:
                found.append((start, start + WINDOW))


def _spellings(secret: Secret | str) -> set[bytes]:
    value = secret.reveal() if isinstance(secret, Secret) else secret
    forms = {value, quote(value, safe=""), quote(value), json.dumps(value)[1:-1]}
    return {form.encode() for form in forms if form}


def _merged(spans: list[Span]) -> list[Span]:
    """Joins spans that overlap or touch; `spans` are in order of their beginnings."""
    merged: list[Span] = []
    for start, end in spans:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _masked(data: bytes, spans: list[Span]) -> bytes:
    parts: list[bytes] = []
    position = 0
    for start, end in spans:
        parts += (data[position:start], _MASK)
        position = end
    parts.append(data[position:])
    return b"".join(parts)
