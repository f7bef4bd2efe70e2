"""YAML of other programs: anchors and merge keys work, nothing is executed, no value is quoted.

Values are built from the parser's events, not from a tree of nodes: a file of some megabytes takes
a second, and depth, size and repeated keys are seen on the way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from routeradmin.catalog.files.draft import Remark
from routeradmin.catalog.problems import Invalid, Problem, pointer

MAX_BYTES = 4 * 1024 * 1024
MAX_VALUES = 500_000
MAX_DEPTH = 64

_STANDARD = "tag:yaml.org,2002:"
_LONGEST_NUMBER = 64  # longer ones are text: they would take minutes to read
_TAGS = {"!", "str", "null", "bool", "int", "float", "timestamp", "seq", "map"}
_PARSER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_BOOLEANS = {"yes": True, "true": True, "on": True, "no": False, "false": False, "off": False}
# As YAML 1.1 reads plain words, but for dates (kept as text) and numbers in base 60.
_WORD = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **{
        form: value
        for word, value in _BOOLEANS.items()
        for form in (word, word.capitalize(), word.upper())
    },
}
_WHOLE = re.compile(r"[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0[0-7_]*|[1-9][0-9_]*)")
_FLOAT = re.compile(
    r"[-+]?(?:[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?"
    r"|\.(?:inf|Inf|INF))|\.(?:nan|NaN|NAN)"
)


class _NotYaml(Exception):
    """``line`` counts from 1; 0 where the place is not known."""

    def __init__(self, detail: str, line: int = 0) -> None:
        self.detail, self.line = detail, line


def load(data: bytes) -> tuple[dict[str, Any], list[Remark]]:
    """The file's top mapping, keys as text, and the keys that stand twice. Raises Invalid."""
    if len(data) > MAX_BYTES:
        raise Invalid([Problem("", f"is larger than {MAX_BYTES} bytes")], code="too-large")
    try:
        builder = _Builder(iter(yaml.parse(data.decode("utf-8-sig"), Loader=_PARSER)))
        values = builder.document()
    except UnicodeDecodeError as why:
        raise _refused(f"is not UTF-8 text: see byte {why.start}") from None
    except yaml.MarkedYAMLError as why:
        mark = why.problem_mark or why.context_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}" if mark else "its syntax"
        raise _refused(f"is not valid YAML: see {place}") from None
    except (yaml.YAMLError, ValueError):
        raise _refused("is not valid YAML: see its characters") from None
    except _NotYaml as why:
        raise _refused(f"{why.detail}: see line {why.line}" if why.line else why.detail) from None
    if not isinstance(values, dict):
        raise _refused("must be a mapping")
    return values, builder.repeated


@dataclass(slots=True)
class _Builder:
    """One document's values. Raises _NotYaml."""

    events: Iterator[Any]
    repeated: list[Remark] = field(default_factory=list)
    _anchors: dict[str, Any] = field(default_factory=dict)
    _sizes: dict[str, int] = field(default_factory=dict)
    _heights: dict[str, int] = field(default_factory=dict)
    _built: int = 0

    def document(self) -> Any:
        event = next(self.events)
        while not isinstance(event, yaml.DocumentStartEvent):
            if isinstance(event, yaml.StreamEndEvent):
                return None
            event = next(self.events)
        value = self._value(next(self.events), ())
        next(self.events)  # the document's end
        if not isinstance(next(self.events), yaml.StreamEndEvent):
            raise _NotYaml("holds more than one YAML document: keep one")
        return value

    def _value(self, event: Any, path: tuple[str | int, ...]) -> Any:
        before = self._built
        self._count(1, event)
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event, len(path))
        self._judge_depth(len(path), event)
        _judge_tag(event)
        if isinstance(event, yaml.ScalarEvent):
            value = _scalar(event)
        elif isinstance(event, yaml.SequenceStartEvent):
            value = self._sequence(path)
        else:
            value = self._mapping(path)
        if event.anchor:
            self._anchors[event.anchor] = value
            self._sizes[event.anchor] = self._built - before
            self._heights[event.anchor] = _height(value)
        return value

    def _alias(self, event: Any, depth: int) -> Any:
        if event.anchor not in self._anchors:
            detail = "an alias stands for no anchor above it, or an anchor holds itself"
            raise _NotYaml(detail, _line(event))
        self._count(self._sizes[event.anchor], event)
        self._judge_depth(depth + self._heights[event.anchor], event)
        return self._anchors[event.anchor]

    def _count(self, values: int, event: Any) -> None:
        self._built += values
        if self._built > MAX_VALUES:
            detail = f"holds more than {MAX_VALUES} values once its aliases are written out"
            raise _NotYaml(detail, _line(event))

    def _judge_depth(self, depth: int, event: Any) -> None:
        if depth > MAX_DEPTH:
            raise _NotYaml(f"is nested deeper than {MAX_DEPTH} levels", _line(event))

    def _sequence(self, path: tuple[str | int, ...]) -> list[Any]:
        found: list[Any] = []
        for event in self.events:
            if isinstance(event, yaml.SequenceEndEvent):
                break
            found.append(self._value(event, (*path, len(found))))
        return found

    def _mapping(self, path: tuple[str | int, ...]) -> dict[str, Any]:
        own: dict[str, Any] = {}
        inherited: list[Any] = []
        lines: dict[str, int] = {}
        for event in self.events:
            if isinstance(event, yaml.MappingEndEvent):
                break
            name = self._key(event)
            if name == "<<" and event.implicit[0]:
                inherited.append((self._value(next(self.events), (*path, name)), _line(event)))
                continue
            if name in lines:
                detail = f"stands on lines {lines[name]} and {_line(event)}: the last one counts"
                self.repeated.append(Remark(pointer(*path, name), detail))
            lines[name] = _line(event)
            own[name] = self._value(next(self.events), (*path, name))
        return _merged(inherited) | own if inherited else own

    def _key(self, event: Any) -> str:
        if isinstance(event, yaml.AliasEvent):
            name = self._alias(event, 0)
        else:
            name = event.value if isinstance(event, yaml.ScalarEvent) else None
        if not isinstance(name, str):
            raise _NotYaml("a key must be text", _line(event))
        if not isinstance(event, yaml.AliasEvent) and event.anchor:
            self._anchors[event.anchor] = name
            self._sizes[event.anchor] = self._heights[event.anchor] = 1
        return name


def _height(value: Any) -> int:
    if isinstance(value, dict):
        value = list(value.values())
    return 1 + max(map(_height, value), default=0) if isinstance(value, list) else 1


def _judge_tag(event: Any) -> None:
    if (event.tag or "!").removeprefix(_STANDARD) not in _TAGS:
        raise _NotYaml("a tag asks for a type that configuration files do not have", _line(event))


def _merged(inherited: list[tuple[Any, int]]) -> dict[str, Any]:
    """What ``<<`` brings in: of several mappings the first that has a key counts."""
    found: dict[str, Any] = {}
    for value, line in inherited:
        for one in value if isinstance(value, list) else [value]:
            if not isinstance(one, dict):
                raise _NotYaml("a merge key brings in mappings only", line)
            found = one | found
    return found


def _scalar(event: Any) -> Any:
    text: str = event.value
    tag = (event.tag or "").removeprefix(_STANDARD)
    if tag in ("!", "str", "timestamp") or not (tag or event.implicit[0]):
        return text
    if text in _WORD:
        return _WORD[text]
    if len(text) > _LONGEST_NUMBER:
        return text
    if _WHOLE.fullmatch(text):
        return _whole(text)
    if _FLOAT.fullmatch(text):
        return float(re.sub(r"\.(?=[in])", "", text.replace("_", "").lower()))
    return text


def _whole(text: str) -> int:
    digits = text.replace("_", "")
    sign, digits = (-1, digits[1:]) if digits[0] == "-" else (1, digits.removeprefix("+"))
    for prefix, base in (("0b", 2), ("0x", 16), ("0", 8)):
        if digits.startswith(prefix) and digits != "0":
            return sign * int(digits[len(prefix) :] or "0", base)
    return sign * int(digits)


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1


def _refused(detail: str) -> Invalid:
    return Invalid([Problem("", detail)])
