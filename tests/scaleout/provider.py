"""A simulated provider as a process of its own, whose streams take their time."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

from tests.process.server import ROOT

CHUNK_DELAY_MS = 50  # a stream takes more than a second


@contextmanager
def provider() -> Iterator[str]:
    """The address of a simulated provider."""
    command = [sys.executable, "manage.py", "simulate_provider", "--port", "0"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            script = {"model": "*", "steps": [{"chunk_delay_ms": CHUNK_DELAY_MS}]}
            asked = urllib.request.Request(  # noqa: S310
                f"{address}/_script", json.dumps(script).encode(), method="PUT"
            )
            urllib.request.urlopen(asked).close()  # noqa: S310
            yield address
        finally:
            process.send_signal(signal.SIGTERM)
