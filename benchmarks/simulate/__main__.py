"""``python -m benchmarks.simulate [--costs FILE] [--keep FILE] [--seed N]``."""

from __future__ import annotations

from benchmarks.simulate import main

main()
