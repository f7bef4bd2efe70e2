"""The Lua that Redis runs: one script for the steps of requests, and one for all steps.

Redis builds every function of a script anew at each call, so the usual calls come with few.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources
from operator import itemgetter
from typing import Any

OFTEN = frozenset({"reserve", "close", "save_turn", "load_turn", "look", "sweep", "recount"})


@dataclass(frozen=True, slots=True)
class Script:
    text: str
    sha: str


def _script(*names: str) -> Script:
    files = resources.files(__package__)
    text = "".join((files / f"{name}.lua").read_text(encoding="utf-8") for name in names)
    return Script(text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest())


_USUAL = _script("candidates", "often", "answers")
_WHOLE = _script("candidates", "often", "steps", "answers")


def for_steps(steps: Iterable[Any]) -> Script:
    """The smaller one that can do them."""
    return _USUAL if OFTEN.issuperset(map(itemgetter(0), steps)) else _WHOLE
