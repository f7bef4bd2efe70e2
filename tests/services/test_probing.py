"""Probes against a simulated provider: what is asked, when, and what an answer means."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import pytest

from routeradmin.adapters.sealing import Secret
from routeradmin.adapters.simulated import SimulatedProvider, running
from routeradmin.catalog.compile import compile
from routeradmin.engine.policy import DEFAULT_POLICY
from routeradmin.engine.state import CandidateKey, CandidateState, Dispatch, FailureClass, Outcome
from routeradmin.services.probing import Prober, askings
from routeradmin.services.runtime import Runtime
from routeradmin.services.secrets import Opened
from tests import factories as make
from tests.conftest import FakeClock

TOKEN = "sk-probing-0123456789abcdef"
MODELS = {"mode": "models", "interval_s": 30, "failure_threshold": 2, "timeout_s": 5}
CHAT = {**MODELS, "mode": "chat"}
KEY = CandidateKey("acme-large", "acme-key")


@dataclass
class Bench:
    """A prober, the provider it asks, and a clock that moves when told."""

    runtime: Runtime
    clock: FakeClock
    provider: SimulatedProvider
    runner: asyncio.Runner
    url: str
    prober: Prober

    def serve(self, probe: dict[str, Any], **kinds: Any) -> None:
        kinds.setdefault("endpoints", [make.endpoint(base_url=f"{self.url}/v1/", probe=probe)])
        document = make.document(**kinds)
        opened = Opened({"acme-key": Secret(TOKEN)}, {"acme-key": 1})
        snapshot = compile(document, self.runtime.current.revision + 1, opened.versions)
        self.runtime.secrets.swap(opened)
        self.runtime.store.bind(snapshot)
        self.runtime.current.swap(snapshot, document)

    def tick(self) -> None:
        """One look at what is due; everything that was started is waited for."""

        async def look() -> None:
            await self.prober.tick(self.runtime)
            await asyncio.gather(*self.prober.running.values())

        self.runner.run(look())

    def rounds(self, count: int, interval_s: float = 30) -> None:
        for _ in range(count):
            self.tick()
            self.clock.advance(interval_s)

    @property
    def asked(self) -> list[str]:
        return [f"{one['method']} {one['path']}" for one in self.provider.calls()["requests"]]

    def state(self, key: CandidateKey = KEY) -> CandidateState:
        found = {state.key: state for state in self.runtime.store.states()}
        return found.get(key) or CandidateState(key)


@pytest.fixture
def bench(bare_runtime: Runtime, clock: FakeClock) -> Iterator[Bench]:
    provider = SimulatedProvider(models=["acme-large"], keep_bodies=True)
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        url = runner.run(stack.enter_async_context(running(provider=provider)))
        prober = Prober()
        yield Bench(bare_runtime, clock, provider, runner, url, prober)

        async def close() -> None:
            await prober.stop()
            await bare_runtime.upstream.close()
            await stack.aclose()

        runner.run(close())


def test_off_asks_nothing(bench: Bench) -> None:
    bench.serve({"mode": "off"})
    bench.rounds(3)
    assert bench.asked == []


def test_models_reads_the_model_list_at_once_and_then_every_interval(bench: Bench) -> None:
    bench.serve(MODELS)
    bench.tick()
    assert bench.asked == ["GET /v1/models"]
    bench.clock.advance(29)
    bench.tick()
    assert len(bench.asked) == 1
    bench.clock.advance(1)
    bench.tick()
    assert bench.asked == ["GET /v1/models"] * 2


def test_models_speaks_for_every_deployment_behind_the_endpoint(bench: Bench) -> None:
    bench.provider.put_script({"kind": "models", "steps": [{"status": 503}]})
    bench.serve(MODELS, serving_models=[make.deployment(), make.deployment("acme-second")])
    bench.rounds(2)
    assert len(bench.asked) == 2
    assert bench.state().probe_unhealthy
    assert bench.state(CandidateKey("acme-second", "acme-key")).probe_unhealthy


@pytest.mark.parametrize(
    ("protocol", "path", "limit"),
    [
        ("chat-completions", "/v1/chat/completions", {"max_tokens": 16}),
        ("messages", "/v1/messages", {"max_tokens": 16}),
        ("responses", "/v1/responses", {"max_output_tokens": 16}),
        ("completions", "/v1/completions", {"max_tokens": 16}),
        ("embeddings", "/v1/embeddings", {}),
    ],
)
def test_chat_is_one_tiny_request_in_the_deployments_protocol(
    bench: Bench, protocol: str, path: str, limit: dict[str, int]
) -> None:
    bench.serve(CHAT, serving_models=[make.deployment(protocol=protocol)])
    bench.tick()
    assert bench.asked == [f"POST {path}"]
    body = bench.provider.calls()["requests"][0]["body"]
    assert body["model"] == "acme-large"
    assert limit.items() <= body.items()
    assert bench.state().health == "healthy"


def test_failures_in_a_row_make_unhealthy_and_one_success_makes_healthy(bench: Bench) -> None:
    bench.serve(MODELS)
    bench.provider.put_script(
        {"kind": "models", "steps": [{"status": 500, "times": 2}], "repeat": "once"}
    )
    bench.rounds(1)
    assert (bench.state().health, bench.state().probe_unhealthy) == ("degraded", False)
    bench.rounds(1)
    assert bench.state().health == "unhealthy"
    bench.rounds(1)
    assert bench.state().health == "healthy"


@pytest.mark.parametrize(
    "step",
    [
        {"status": 500},
        {"html": True},
        {"cut_json": True},
        {"refuse": True},
        {"reset": True},
        {"error_in_200": True},
        {"status": 302, "headers": {"location": "/v1/models"}},
    ],
    ids=lambda step: "-".join(step),
)
def test_anything_but_a_whole_answer_is_a_failure(bench: Bench, step: dict[str, Any]) -> None:
    bench.serve(MODELS)
    bench.provider.put_script({"kind": "models", "steps": [step]})
    bench.tick()
    assert bench.state().probe_failures == 1
    assert len(bench.asked) == 1  # a redirect was not followed


def test_a_verdict_waits_for_the_end_of_a_running_cooldown(bench: Bench) -> None:
    bench.serve(MODELS)
    store, clock = bench.runtime.store, bench.clock
    bench.runner.run(store.set_cooldown(KEY, 100, "user:ada", "rack work", clock()))
    bench.rounds(3)
    state = bench.state()
    assert state.cooldown is not None
    assert state.cooldown.until == pytest.approx(clock() + 10)
    assert state.health == "degraded"
    clock.advance(11)
    bench.tick()
    assert bench.state().health == "healthy"


def test_a_rejected_key_asks_for_attention(bench: Bench) -> None:
    bench.serve(MODELS)
    bench.provider.require_key(["another-key-0123456789"])
    bench.tick()
    state = bench.state()
    assert state.needs_attention
    assert state.cooldown is not None
    assert (state.cooldown.cls, state.cooldown.set_by) == ("unauthorized", "probe")


def test_what_a_provider_quotes_back_is_kept_without_the_secret(bench: Bench) -> None:
    bench.serve(MODELS)
    words = {"message": "bad key {{secret}}"}
    bench.provider.put_script({"kind": "models", "steps": [{"status": 401, "error": words}]})
    bench.tick()
    error = bench.state().last_error
    assert error is not None
    assert error.message.startswith("bad key ")
    assert TOKEN[-8:] not in error.message


def test_probes_touch_neither_windows_nor_slots_nor_latency(bench: Bench) -> None:
    bench.serve(CHAT)
    bench.rounds(3)
    state = bench.state()
    assert (state.rpm_used, state.tpm_used, state.active) == (0, 0, 0)
    assert (state.successes, list(state.latencies_ms)) == (0, [])


def test_disabled_deployments_and_credentials_are_left_alone(bench: Bench) -> None:
    bench.serve(MODELS, serving_models=[make.deployment(admin_state="disabled")])
    bench.rounds(2)
    bench.serve(MODELS, accounts=[make.account(admin_state="disabled")])
    bench.rounds(2)
    assert bench.asked == []


def test_a_pattern_is_never_sent_a_chat_and_its_names_share_the_models_verdict(
    bench: Bench,
) -> None:
    pattern = [make.model(upstream_name="acme-*")]
    bench.serve(CHAT, models=pattern)
    bench.tick()
    assert bench.asked == []
    bench.serve(MODELS, models=pattern)
    named = CandidateKey("acme-large", "acme-key", "acme-tiny")
    failure = Outcome(FailureClass.TRANSIENT, Dispatch.UNKNOWN)
    probed: Callable[..., Any] = bench.runtime.store.probed
    bench.runner.run(probed(named, False, 1, DEFAULT_POLICY, failure, bench.clock()))
    assert bench.state(named).probe_unhealthy
    bench.tick()
    assert bench.state(named).health == "healthy"


def test_a_probe_that_is_set_up_anew_is_due_at_once(bench: Bench) -> None:
    bench.serve({**MODELS, "interval_s": 3600})
    bench.tick()
    bench.clock.advance(10)
    bench.serve(MODELS)
    bench.tick()
    assert len(bench.asked) == 2


def test_a_probe_that_hangs_stops_no_other_and_is_not_started_twice(bench: Bench) -> None:
    bench.provider.put_script({"model": "acme-large", "steps": [{"silence": True}]})
    bench.serve(
        CHAT,
        models=[make.model(), make.model("small")],
        serving_models=[make.deployment(), make.deployment("quick", model_id="small")],
    )

    async def looks() -> None:
        for _ in range(3):
            await bench.prober.tick(bench.runtime)
            quick = [t for key, t in bench.prober.running.items() if key[1] == "quick"]
            await asyncio.gather(*quick)
            bench.clock.advance(30)

    bench.runner.run(looks())
    models = [one["model"] for one in bench.provider.calls()["requests"]]
    assert sorted(models) == ["acme-large", "acme-small", "acme-small", "acme-small"]
    assert len(bench.prober.running) == 1


def test_where_many_hang_those_that_waited_longest_go_first(bench: Bench) -> None:
    bench.provider.put_script({"steps": [{"silence": True}]})
    names = [f"d{n}" for n in range(6)]
    bench.serve(
        CHAT, serving_models=[make.deployment(name) for name in names], targets=[], routes=[]
    )
    bench.prober.most_at_once = 2
    begun: list[str] = []

    async def looks() -> None:
        for _ in range(3):
            await bench.prober.tick(bench.runtime)
            begun.extend(key[1] for key in bench.prober.running)
            await bench.prober.stop()
            bench.clock.advance(30)

    bench.runner.run(looks())
    assert begun == names


def test_every_probe_has_a_time_limit_of_its_own(bench: Bench) -> None:
    bench.provider.put_script({"kind": "models", "steps": [{"silence": True}]})
    bench.serve({**MODELS, "timeout_s": 0.1})
    bench.tick()
    assert bench.state().probe_failures == 1
    error = bench.state().last_error
    assert error is None or error.cls == "transient"


def test_models_probes_of_one_endpoint_are_grouped_by_credential(bench: Bench) -> None:
    keys = [make.account(), make.account("acme-other")]
    both = ["acme-key", "acme-other"]
    bench.serve(
        MODELS,
        accounts=keys,
        serving_models=[make.deployment(account_ids=both), make.deployment("d2", account_ids=both)],
    )
    found = askings(bench.runtime.current.snapshot)
    assert [(one.credential.id, len(one.candidates)) for one in found] == [
        ("acme-key", 2),
        ("acme-other", 2),
    ]
