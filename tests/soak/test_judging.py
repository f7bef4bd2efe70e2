"""The judge of the soak test tells growth from noise."""

from __future__ import annotations

import pytest

from tests.soak.judging import TOLD, rows, untold


def looks(name: str, *sizes: float) -> list[tuple[float, dict[str, float]]]:
    return [(place / (len(sizes) - 1), {name: size}) for place, size in enumerate(sizes)]


@pytest.mark.parametrize(
    ("name", "sizes", "grows"),
    [
        ("process 0: MB", [100, 150, 180, 190, 190, 191, 191, 192, 192, 193, 194], False),
        ("process 0: MB", [100, 110, 120, 130, 140, 150, 160, 170, 180, 190, 200], True),
        ("process 0: files at rest", [30, 45], False),
        ("process 0: files at rest", [30, 60], True),
        (
            "rows: journal_turn",
            [0, 900, 2000, 2100, 2000, 2050, 2000, 2100, 2000, 2050, 2080],
            False,
        ),
        ("rows: journal_turn", [0, 900, 1600, 230, 1600, 240, 1700, 260, 1800, 250, 2400], False),
        ("rows: journal_turn", [0, 300, 1600, 700, 1600, 900, 1700, 1200, 1800, 1500, 2400], True),
        ("redis: keys that stay", [9] * 6 + [100, 200, 300, 400, 500], True),
    ],
)
def test_growth_after_the_warm_up(name: str, sizes: list[float], grows: bool) -> None:
    (row,) = rows(looks(name, *sizes), leases=0)
    assert row.grows == grows


def test_keys_that_go_by_themselves_are_as_many_as_there_were_leases() -> None:
    found = looks("redis: keys that go: lease", *range(0, 1100, 100))
    assert not rows(found, leases=1000)[0].grows
    assert rows(found, leases=500)[0].grows


def test_tables_that_are_not_told_to_the_end_are_not_flat() -> None:
    name = f"process 1{TOLD}"
    assert not untold(looks(name, *[7] * 11), serving=1)
    assert untold(looks(name, *[7] * 11), serving=2)
    assert untold(looks("process 1: MB", *[7] * 11), serving=1)
    assert untold(looks(name, *[7] * 11)[:8], serving=1)
