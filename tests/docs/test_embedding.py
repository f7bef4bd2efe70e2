"""The example in docs/embedding.md works as it stands, and without Django."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NO_DJANGO = "\nimport sys\nassert 'django' not in sys.modules, 'the example pulled in Django'\n"


def test_the_example_runs_as_it_stands_in_a_process_without_django():
    page = (ROOT / "docs" / "embedding.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program + NO_DJANGO],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "succeeded hello there\n"
