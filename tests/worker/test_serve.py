"""What ``serve`` says and refuses before anything is started, and how it ends what runs."""

from __future__ import annotations

import asyncio
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError

from routeradmin.engine.outcome import Ending
from routeradmin.services.inference.interrupt import Interrupt
from routeradmin.services.runtime import Runtime
from routeradmin.worker.management.commands.serve import (
    Command,
    refuse_what_cannot_work,
    url_of,
)
from routeradmin.worker.serving import Server


@pytest.mark.parametrize(
    ("workers", "plane", "port", "words"),
    [
        (1, "all", 70_000, "--port accepts 0 to 65535"),
        (1, "all", -1, "--port accepts 0 to 65535"),
        (0, "all", 8000, "--workers accepts 1 or more"),
        (2, "all", 8000, "DATABASE_URL and REDIS_URL"),
        (1, "data", 8000, "separate planes share state"),
    ],
)
def test_what_cannot_work_is_refused_in_words_that_say_what_to_do(
    workers: int, plane: str, port: int, words: str
) -> None:
    with pytest.raises(CommandError, match=words):
        refuse_what_cannot_work(workers, plane, port)


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:8000"),
        ("::1", "http://[::1]:8000"),
        ("0.0.0.0", "http://127.0.0.1:8000"),
        ("::", "http://[::1]:8000"),
        ("router.example", "http://router.example:8000"),
    ],
)
def test_the_address_printed_is_one_a_browser_can_open(host: str, url: str) -> None:
    assert url_of(host, 8000) == url


@pytest.mark.parametrize(
    ("host", "allowed", "told"),
    [
        ("127.0.0.1", ["localhost", "127.0.0.1", "[::1]"], False),
        ("0.0.0.0", ["localhost", "127.0.0.1", "[::1]"], True),
        ("0.0.0.0", ["router.example"], False),
    ],
)
def test_an_open_address_without_names_to_answer_to_is_pointed_out(
    host: str, allowed: list[str], told: bool, settings: Any
) -> None:
    settings.ALLOWED_HOSTS = allowed
    out = StringIO()
    Command(stdout=out).greet("http://somewhere", host, ("admin", "shown-once"))
    printed = out.getvalue().splitlines()
    assert printed[0] == "routeradmin on http://somewhere"
    assert "password: shown-once" in printed[1]
    assert ("ROUTERADMIN_ALLOWED_HOSTS" in out.getvalue()) is told


@pytest.mark.parametrize("has_others", [False, True])
def test_what_runs_is_ended_in_words_before_the_server_cuts_it_off(
    bare_runtime: Runtime, monkeypatch: pytest.MonkeyPatch, has_others: bool
) -> None:
    async def greet() -> None:
        pass

    server, before, late = Server(greet, has_others=has_others), Interrupt(), Interrupt()
    cut_off_after_s = server.config.timeout_graceful_shutdown or 0
    drained_s = server._grace_s if has_others else 0
    assert server._grace_s < drained_s + cut_off_after_s
    bare_runtime.under_way.add(before)
    monkeypatch.setattr(server, "_grace_s", 0)
    asyncio.run(server._end_what_runs())
    bare_runtime.under_way.add(late)
    assert before.reason is late.reason is Ending.STOPPED
