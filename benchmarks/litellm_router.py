"""LiteLLM's router on its own: run by select_inprocess.py with a Python that has litellm.

    python benchmarks/litellm_router.py 10 100 1000

Prints one JSON object: routing strategy -> microseconds per choice for each size. No limits are
set and nothing cools, so its filters have less to do than ours.
"""

from __future__ import annotations

import json
import logging
import sys
from time import perf_counter
from typing import Any

from litellm import Router

STRATEGIES = {
    "simple-shuffle": 200,
    "least-busy": 50,
    "latency-based-routing": 20,
    "usage-based-routing-v2": 20,
}
MESSAGES = [{"role": "user", "content": "hello"}]


def router(strategy: str, size: int) -> Any:
    models = [
        {
            "model_name": "m",
            "litellm_params": {
                "model": f"openai/model-{number}",
                "api_key": "none",
                "api_base": "http://127.0.0.1:9/v1",
                "weight": 1 + number % 5,
            },
        }
        for number in range(size)
    ]
    return Router(model_list=models, routing_strategy=strategy)


def measure(strategy: str, size: int, calls: int) -> float:
    """Best microseconds of three batches."""
    chosen = router(strategy, size)
    best = float("inf")
    for _ in range(3):
        start = perf_counter()
        for _ in range(calls):
            chosen.get_available_deployment(model="m", messages=MESSAGES)
        best = min(best, (perf_counter() - start) / calls)
    return best * 1e6


def main() -> None:
    logging.disable(logging.CRITICAL)
    sizes = [int(size) for size in sys.argv[1:]]
    found: dict[str, list[float]] = {}
    for strategy, calls in STRATEGIES.items():
        found[strategy] = [measure(strategy, size, max(3, calls * 10 // size)) for size in sizes]
    print(json.dumps(found))


if __name__ == "__main__":
    main()
