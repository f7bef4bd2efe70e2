"""YAML of other programs: anchors and merge keys work, nothing is executed, no value is quoted."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import yaml

from routeradmin.catalog.files.draft import Remark
from routeradmin.catalog.problems import Invalid, Problem, pointer

MAX_BYTES = 4 * 1024 * 1024
MAX_VALUES = 200_000


class _Loader(yaml.SafeLoader):
    """Keeps dates as text and remembers keys that stand twice in one mapping."""

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self.repeated: list[Remark] = []

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
        lines: dict[str, int] = {}
        for key, _ in getattr(node, "value", ()):
            if isinstance(key, yaml.ScalarNode) and key.value != "<<":
                line = key.start_mark.line + 1
                if key.value in lines:
                    detail = f"stands on lines {lines[key.value]} and {line}: the last one counts"
                    self.repeated.append(Remark(pointer(key.value), detail))
                lines[key.value] = line
        return super().construct_mapping(node, deep)


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in found if tag != "tag:yaml.org,2002:timestamp"]
    for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def load(data: bytes) -> tuple[dict[str, Any], list[Remark]]:
    """The file's top mapping, keys as text, and the keys that stand twice. Raises Invalid."""
    if len(data) > MAX_BYTES:
        raise Invalid([Problem("", f"is larger than {MAX_BYTES} bytes")], code="too-large")
    try:
        loader = _Loader(data.decode("utf-8-sig"))
        values = loader.get_single_data()
    except UnicodeDecodeError as why:
        raise _refused(f"is not UTF-8 text: see byte {why.start}") from None
    except yaml.MarkedYAMLError as why:
        mark = why.problem_mark or why.context_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}" if mark else "its syntax"
        raise _refused(f"is not valid YAML: see {place}") from None
    except (yaml.YAMLError, ValueError, RecursionError):
        raise _refused("is not valid YAML: see its characters and nesting") from None
    if not isinstance(values, dict):
        raise _refused("must be a mapping")
    try:
        return _texts(values, [MAX_VALUES]), loader.repeated
    except RecursionError:
        raise _refused("is nested too deeply, or an alias holds itself") from None


def _texts(value: Any, left: list[int]) -> Any:
    """Keys as text, all aliases written out, within a bound on the number of values."""
    left[0] -= 1
    if left[0] < 0:
        raise _refused(f"holds more than {MAX_VALUES} values once its aliases are written out")
    if isinstance(value, dict):
        return {str(name): _texts(member, left) for name, member in value.items()}
    if isinstance(value, list | tuple | set):
        return [_texts(member, left) for member in value]
    return value


def _refused(detail: str) -> Invalid:
    return Invalid([Problem("", detail)])
