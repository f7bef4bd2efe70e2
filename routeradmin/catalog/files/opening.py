"""Any file that holds a catalog, ours or another program's: told apart by what it holds."""

from __future__ import annotations

import re

from routeradmin.catalog.document import FORMAT, LLM_FORMAT
from routeradmin.catalog.files import foreign
from routeradmin.catalog.files.draft import Draft
from routeradmin.catalog.files.reading import read
from routeradmin.catalog.files.syntax import FileFormat
from routeradmin.catalog.problems import Invalid, Problem

OWN = ("toml", "json")
FORMATS = ("auto", *OWN, *foreign.READERS)

_HEAD_BYTES = 65_536
# A line of YAML that none of TOML could be: a document's start, a list's entry, a key with a colon.
_YAML = re.compile(r"---(\s|$)|%YAML|-\s|[^=\[\]{}#]*?:(\s|$)")


def open_file(data: bytes, format: str = "auto") -> Draft:
    """The catalog that the file holds, with all that it leaves open; ``format`` one of FORMATS.

    Raises Invalid with every problem at its place.
    """
    if format not in FORMATS:
        raise Invalid([Problem("", f"there is no format of that name: use {', '.join(FORMATS)}")])
    if format in foreign.READERS:
        return foreign.read(data, format)
    if format == "auto" and is_foreign(data):
        return foreign.read(data)
    ours: FileFormat = "auto" if format == "auto" else "toml" if format == "toml" else "json"
    return Draft("catalog", read(data, ours))


def is_foreign(data: bytes) -> bool:
    """Whether the file looks like another program's rather than like a catalog of ours."""
    head = data[:_HEAD_BYTES].decode("utf-8-sig", "replace")
    lines = (line.strip() for line in head.splitlines())
    first = next((line for line in lines if line and not line.startswith("#")), "")
    if first.startswith("{"):
        return not (FORMAT.encode() in data or LLM_FORMAT.encode() in data) and any(
            f'"{sign}"'.encode() in data for sign in foreign.SIGNS - {"providers"}
        )
    return _YAML.match(first) is not None
