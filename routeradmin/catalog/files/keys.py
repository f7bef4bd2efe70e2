"""What a key in another program's file is: none, a reference, a placeholder or the key itself."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Literal

KeyKind = Literal["none", "env", "literal", "placeholder", "template", "unreadable"]

_ENVIRONMENT = (
    re.compile(r"os\.environ/([A-Za-z_]\w*)"),
    re.compile(r"\$\{([A-Za-z_]\w*)\}"),
    re.compile(r"\$([A-Za-z_]\w*)"),
)
_NO_KEY = {"", "none", "null", "no-key", "not-needed", "na", "n/a", "dummy", "empty"}
_PLACEHOLDER = re.compile(
    r"replace|your[-_ ]|change[-_ ]?me|<.*>|example|placeholder|x{4,}|\*{3,}|\.{3}", re.I
)
_TEMPLATE = re.compile(r"\{\{|\}\}|\$\{|<%")


@dataclass(frozen=True, slots=True)
class Key:
    """``text`` is the variable's name for ``env``, else the file's text, which never shows."""

    kind: KeyKind
    text: str = field(default="", repr=False)

    @property
    def needs_secret(self) -> bool:
        return self.kind != "none"

    @property
    def identity(self) -> tuple[str, str]:
        """Equal for keys that are one credential."""
        return self.kind, self.text if self.needs_secret else ""

    @property
    def remark(self) -> str:
        if self.kind == "none" and self.text:
            return "is a word for no key: calls are made without one"
        return {
            "literal": "holds a key in clear text: stored sealed here, remove it there",
            "placeholder": "is a placeholder and no working key: set the secret",
            "template": "is an unresolved template, nothing was executed: set the secret",
            "unreadable": "was meant to be a key and cannot be read as one: set the secret",
        }.get(self.kind, "")

    def reference(self, account_id: str) -> str:
        """What the document names: the variable, or a stored secret called like its account."""
        return f"env:{self.text}" if self.kind == "env" else account_id


def key_of(value: Any) -> Key:
    """Judge a key field. A word such as ``none`` is no key at all; what is no text is not absent,
    for then calls would be made without the key that the file meant."""
    if value is not None and not isinstance(value, str | int | float):
        return Key("unreadable", repr(value))
    text = "" if value is None else str(value).strip()
    if text.lower() in _NO_KEY:
        return Key("none", text)
    name = environment_name(text)
    if name is not None:
        return Key("env", name)
    if _TEMPLATE.search(text):
        return Key("template", text)
    if _PLACEHOLDER.search(text):
        return Key("placeholder", text)
    return Key("literal", text)


def environment_name(value: Any) -> str | None:
    """The variable that a text such as ``os.environ/NAME`` or ``${NAME}`` stands for."""
    if not isinstance(value, str):
        return None
    for pattern in _ENVIRONMENT:
        found = pattern.fullmatch(value.strip())
        if found:
            return found[1]
    return None
