"""What looks like a secret, whoever's it is: bearer tokens, vendors' keys, secrets in URLs."""

from __future__ import annotations

import re

_TOKEN = r"[A-Za-z0-9._~+/=*-]"  # noqa: S105 - the characters of a token, not one
_NAMES = r"api[_-]?key|access[_-]?token|auth|authorization|client[_-]?secret|password|secret|token"

_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = (
    # scheme://user:password@host
    (re.compile(r"(://)[^/\s@\"'<>]+@"), r"\1***@"),
    # Words alone ("bearer authentication") are left in place: a token holds a digit or a sign.
    (re.compile(rf"(?i)\b(bearer)\s+(?=\S*[\d._~+/=-]){_TOKEN}{{8,}}"), r"\1 ***"),
    (re.compile(r"(?i)(authorization[\"']?\s*[:=]\s*[\"']?(?:basic|digest))\s+\S{4,}"), r"\1 ***"),
    (re.compile(r"\b(?:sk|rk|gsk|xai|hf|gh[oprsu]|glpat|pplx|nvapi|r8)[-_][\w*-]{8,}"), "***"),
    (re.compile(r"\bAIza[\w-]{20,}|\bAKIA[0-9A-Z]{12,}|\beyJ[\w-]{8,}\.[\w.-]+"), "***"),
    (re.compile(rf"(?i)([?&;](?:{_NAMES}|key|sig|signature|code)=)[^&\s\"'<>#]+"), r"\1***"),
    # header: value, "name": "value"; shorter values are mostly words about the field
    (
        re.compile(rf"(?i)\b((?:x-)?(?:goog-)?(?:{_NAMES})[\"']?\s*[:=]\s*[\"']?){_TOKEN}{{16,}}"),
        r"\1***",
    ),
)


def without_patterns(text: str) -> str:
    for pattern, replacement in _PATTERNS:
        text = pattern.sub(replacement, text)
    return text
