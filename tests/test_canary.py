"""A canary: one secret goes through everything, and comes out nowhere.

An upstream that quotes its caller's key back, in answers and in errors, plain and streaming; then
every place that keeps or shows something is searched for the key and for parts of it.
"""

from __future__ import annotations

import asyncio
import io
import logging
import traceback
from collections.abc import Iterator
from typing import Any

import pytest
from django.apps import apps
from django.core import serializers
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from routeradmin import logs
from routeradmin.adapters.open_telemetry import OpenTelemetry
from routeradmin.adapters.simulated.provider import SimulatedProvider
from routeradmin.adapters.simulated.serving import running_in_thread
from routeradmin.services import changes, journal_writing
from routeradmin.services.runtime import Runtime
from tests import factories as make
from tests.api.client import BY, Api, key_with
from tests.dataplane.desk import Desk

CANARY = "sk-canary-Jq7Zp4Xv9Kw2Lm8Tb5"
HOOK_CANARY = "whsec_" + "Q2FuYXJ5" * 6
SHORTEST = 8  # consecutive characters that would give a secret away


def leaks(text: str) -> list[str]:
    """The parts of either secret that the text holds, prefixes that all secrets share left out."""
    found = []
    for secret in (CANARY.removeprefix("sk-"), HOOK_CANARY.removeprefix("whsec_")):
        found += [
            secret[at : at + SHORTEST]
            for at in range(len(secret) - SHORTEST + 1)
            if secret[at : at + SHORTEST] in text
        ]
    return found


@pytest.fixture
def lines(runtime: Runtime) -> Iterator[io.StringIO]:
    """Everything that is logged, at any level, as the product writes it."""
    stream, root = io.StringIO(), logging.getLogger()
    handlers = [logging.StreamHandler(stream), logging.StreamHandler(stream)]
    for handler, form in zip(handlers, (logs.JsonLines(), logs.TextLines()), strict=True):
        handler.setFormatter(form)
        root.addHandler(handler)
    level, before = root.level, logs._redactor
    root.setLevel(logging.DEBUG)
    logs.clean_with(lambda: runtime.secrets.redactor)
    yield stream
    logs.clean_with(before)
    root.setLevel(level)
    for handler in handlers:
        root.removeHandler(handler)


@pytest.fixture
def spans(runtime: Runtime) -> InMemorySpanExporter:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    runtime.tracer = OpenTelemetry(provider)
    return exporter


@pytest.fixture
def provider() -> Iterator[tuple[SimulatedProvider, str]]:
    simulated = SimulatedProvider()
    with running_in_thread(provider=simulated) as url:
        yield simulated, url


def stored() -> str:
    """Every row of every table of ours."""
    rows = [row for model in apps.get_models() for row in model._default_manager.all()]
    return serializers.serialize("json", rows)


def chat(**fields: Any) -> dict[str, Any]:
    return {"model": "chat", "messages": [{"role": "user", "content": "hello"}], **fields}


def test_a_secret_that_goes_everywhere_is_found_nowhere(
    runtime: Runtime,
    lines: io.StringIO,
    spans: InMemorySpanExporter,
    provider: tuple[SimulatedProvider, str],
) -> None:
    simulated, url = provider
    values = make.catalog(endpoints=[make.endpoint(base_url=f"{url}/v1/")])
    values["policies"] = [{"id": "once", "retry": {"max_attempts": 1}}]
    values["routes"] = [make.route(policy_id="once")]
    changes.replace_document(make.document(values), BY, mode="replace")
    changes.replace_secret("acme-key", CANARY, BY)
    api = Api(key_with("read", "write", "admin"))
    hook = {"name": "h", "url": f"{url}/hook", "secret": HOOK_CANARY}
    shown = [api.post("/webhooks", hook).content.decode()]

    quoted = f"the key {CANARY} is over its limit"
    steps: list[dict[str, Any]] = [
        {"text": f"your key is {CANARY}"},
        {
            "status": 429,
            "headers": {"retry-after": "0", "x-echo": CANARY},
            "error": {"message": quoted},
        },
        {"status": 401, "error": {"message": quoted}},
        {"status": 500, "error": {"message": quoted}},
    ]
    with asyncio.Runner() as runner:
        desk = Desk(runtime, runner)
        try:
            for step in steps:
                for stream in (False, True):
                    simulated.put_script({"model": "acme-large", "steps": [step]})
                    answer = desk.call("POST", "/v1/chat/completions", chat(stream=stream))
                    shown += [answer.body.decode(), *answer.headers.values()]
                    runner.run(clear_cooldowns(runtime))
            shown.append(repr(desk.failed(desk.took("chat"), 429, message=quoted)))
            shown.append(desk.call("GET", "/metrics").body.decode())
        finally:
            runner.run(runtime.upstream.close())
    assert simulated.calls()["total"] == 2 * len(steps)
    try:
        raise ValueError(quoted)
    except ValueError:
        logging.getLogger("routeradmin.canary").exception("failed with %s", CANARY)
        assert leaks(traceback.format_exc()), "the canary itself must be seen by the search"
    journal_writing.write(runtime)
    api = Api(key_with("read", "admin"))
    shown += [
        api.get(path).content.decode()
        for path in (
            "/turns",
            "/events",
            "/state",
            "/audit",
            "/credentials",
            "/webhooks",
            "/catalog",
        )
    ]
    places = {
        "answers": "\n".join(shown),
        "log": lines.getvalue(),
        "traces": "\n".join(span.to_json() for span in spans.get_finished_spans()),
        "database": stored(),
        "memory": repr(runtime) + repr(vars(runtime)),
    }
    assert {name: leaks(text) for name, text in places.items()} == {name: [] for name in places}
    assert "failed with ***" in places["log"]
    assert "rate-limited" in places["database"]
    assert "chat acme-large" in places["traces"]


async def clear_cooldowns(runtime: Runtime) -> None:
    for state in runtime.store.states():
        await runtime.store.clear(state.key, "user:t", runtime.clock())
