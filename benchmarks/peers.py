"""Other gateways that take part in ``gateway_http``: those of the JSON file ``BENCH_PEERS``."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.rounds import Subject
from benchmarks.servers import process

# A gateway with many dependencies takes its time to load them.
START_S = 180.0


@contextmanager
def peers(like: Subject) -> Iterator[dict[str, Subject]]:
    """By name, asked as ``like`` is but for what their entries say. An entry with a ``command`` is
    started and ended here; without one it must be running. No file, no peers."""
    file = os.environ.get("BENCH_PEERS")
    entries: dict[str, dict[str, Any]] = json.loads(Path(file).read_text("utf-8")) if file else {}
    with ExitStack() as stack:
        for entry in entries.values():
            if "command" in entry:
                env = {str(name): str(value) for name, value in entry.get("env", {}).items()}
                ready = entry.get("ready", "/")
                command, port = entry["command"], entry["port"]
                stack.enter_context(process(command, port, env, ready, wait_s=START_S, quiet=True))
        yield {name: _subject(entry, like) for name, entry in entries.items()}


def _subject(entry: dict[str, Any], like: Subject) -> Subject:
    told = {name: entry[name] for name in ("port", "path", "key", "headers") if name in entry}
    body = like.body if "model" not in entry else {**like.body, "model": entry["model"]}
    return replace(like, body=body, **told)
