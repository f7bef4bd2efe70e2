"""``python -m benchmarks [name ...]``: run all benchmarks, or those named."""

from __future__ import annotations

import importlib
import sys

NAMES = (
    "select_inprocess",
    "select_http",
    "gateway_http",
    "select_redis",
    "simulate",
    "catalog",
    "intents",
    "console",
    "outages",
)


def main() -> None:
    wanted = sys.argv[1:] or NAMES
    unknown = [name for name in wanted if name not in NAMES]
    if unknown:
        sys.exit(f"no benchmark named {', '.join(unknown)}; there are: {', '.join(NAMES)}")
    for name in wanted:
        importlib.import_module(f"benchmarks.{name}").run()


if __name__ == "__main__":
    main()
