"""The page about the script language knows every word of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from routeradmin.adapters.simulated import Rates, Script, Step

PAGE = Path(__file__).resolve().parents[3] / "docs" / "simulated-provider.md"


@pytest.mark.parametrize("part", [Script, Step, Rates], ids=lambda part: part.__name__)
def test_every_field_has_a_row_in_the_tables(part: type[Step]) -> None:
    first_cells = re.findall(r"^\| (`.*?) \|", PAGE.read_text(), re.MULTILINE)
    named = {name for cell in first_cells for name in re.findall(r"`(\w+)`", cell)}

    assert set(part.model_fields) <= named
