"""What the program reads from its environment is in the manual, and the other way round."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
MANUAL = (ROOT / "docs" / "operations.md").read_text()
METRICS = (ROOT / "docs" / "observability.md").read_text()
OWN = re.compile(r"\b(ROUTERADMIN_[A-Z]+(?:_[A-Z]+)*|DATABASE_URL|REDIS_URL)\b")


def read_by_the_code() -> set[str]:
    sources = (ROOT / "routeradmin").rglob("*.py")
    return {name for path in sources for name in OWN.findall(path.read_text())}


def table(text: str) -> set[str]:
    """Names in the first column of the manual's tables."""
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    return {name for row in rows for name in re.findall(r"`([A-Za-z_*]+)`", row)}


def test_every_variable_that_is_read_is_in_the_table() -> None:
    assert read_by_the_code() - table(MANUAL) == set()


def test_the_table_names_no_variable_that_nobody_reads() -> None:
    named = {name for name in table(MANUAL) if OWN.fullmatch(name)}
    assert named - read_by_the_code() == set()


def test_every_otel_variable_that_is_read_is_explained() -> None:
    source = (ROOT / "routeradmin" / "adapters" / "open_telemetry.py").read_text()
    read = set(re.findall(r"\"(OTEL_[A-Z_]+)\"", source))
    assert read
    assert all(f"`{name}`" in METRICS for name in read)


def test_every_metric_is_explained() -> None:
    sources = (ROOT / "routeradmin" / "services" / "metering").glob("*.py")
    names = {
        name
        for path in sources
        for name in re.findall(r"\"((?:routeradmin|gen_ai_client)_[a-z_]+)\"", path.read_text())
    }
    assert len(names) > 15
    assert names - table(METRICS) == set()
