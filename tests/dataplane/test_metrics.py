"""``/metrics``: who may read it, what it counts, and which labels it never has."""

from __future__ import annotations

from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from routeradmin.engine.state import CandidateKey
from routeradmin.services.metering.standing import STATES
from tests.dataplane import catalogs
from tests.dataplane.desk import Desk
from tests.dataplane.serving import Gateway, chat
from tests.engine.world import catalog, deployment

Samples = dict[str, dict[tuple[str, ...], float]]


def samples(text: str) -> Samples:
    """Values by sample name and sorted labels, each written ``name=value``."""
    found: Samples = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = tuple(sorted(f"{name}={value}" for name, value in sample.labels.items()))
            found.setdefault(sample.name, {})[labels] = sample.value
    return found


def scraped(desk: Desk) -> Samples:
    answer = desk.call("GET", "/metrics")
    assert answer.status == 200, answer.body
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    return samples(answer.body.decode())


def counted(found: Samples, name: str) -> dict[tuple[str, ...], float]:
    """Without what stands at 0."""
    return {labels: value for labels, value in found[name].items() if value}


def test_a_key_needs_read_and_an_open_one_needs_none(desk: Desk) -> None:
    desk.let("selecting", "rk_selecting", frozenset({"select"}))
    assert desk.call("GET", "/metrics", token=None).status == 401
    assert desk.call("GET", "/metrics", token="rk_selecting").code == "insufficient_scope"
    desk.runtime.open_metrics = True
    assert desk.call("GET", "/metrics", token=None).status == 200
    assert desk.call("POST", "/metrics").status == 405


def test_every_deployment_has_one_level_and_a_gauge_for_every_state(desk: Desk) -> None:
    desk.publish(catalog([deployment("a"), deployment("b")]))
    now, store = desk.runtime.clock(), desk.runtime.store
    desk.run(store.set_cooldown(CandidateKey("a", "k"), 60, "user:x", "", now))
    found = scraped(desk)
    assert found["routeradmin_deployment_state"] == {
        ("deployment=a",): 2,
        ("deployment=b",): 0,
    }
    of_a = {
        word: found["routeradmin_deployment_in_state"]["deployment=a", f"state={word}"]
        for word in STATES
    }
    assert of_a == {word: float(word == "cooling") for word in STATES}
    assert found["routeradmin_config_revision"] == {(): 1}
    assert found["routeradmin_ready"] == {(): 1}


def test_leases_attempts_cooldowns_and_first_tokens_are_counted(desk: Desk) -> None:
    desk.publish(catalog([deployment("a")]))
    held, done = desk.took(), desk.took()
    desk.succeeded(done, input_tokens=30, output_tokens=7, ttft_ms=250, latency_ms=900)
    found = scraped(desk)
    assert found["routeradmin_leases"] == {("deployment=a",): 1}
    assert found["routeradmin_attempts_total"] == {("class=success", "deployment=a"): 1}
    assert found["routeradmin_tokens_total"] == {
        ("deployment=a", "type=input"): 30,
        ("deployment=a", "type=output"): 7,
    }
    first = found["routeradmin_first_token_seconds_bucket"]
    assert first["deployment=a", "le=0.2"] == 0
    assert first["deployment=a", "le=0.3"] == 1
    assert found["routeradmin_overhead_seconds_count"]["operation=select",] == 2
    assert counted(found, "routeradmin_turns_total") == {("halt=succeeded",): 1}

    desk.failed(held, 429, retry_after=9)
    found = scraped(desk)
    begun = {("class=rate-limited", "deployment=a"): 1}
    assert counted(found, "routeradmin_cooldowns_total") == begun
    assert found["routeradmin_attempts_total"]["class=rate-limited", "deployment=a"] == 1
    desk.report(held, outcome="failure", status=429)
    assert scraped(desk)["routeradmin_attempts_total"] == found["routeradmin_attempts_total"]


def test_what_happens_rarely_is_counted_from_0_so_that_its_first_time_is_a_rise(desk: Desk) -> None:
    desk.publish(catalog([deployment("a")]))
    before = scraped(desk)
    assert before["routeradmin_cooldowns_total"]["class=unauthorized", "deployment=a"] == 0
    assert before["routeradmin_turns_total"]["halt=ineligible-failure",] == 0
    desk.failed(desk.took(), 401)
    after = scraped(desk)
    for name in ("routeradmin_cooldowns_total", "routeradmin_turns_total"):
        assert after[name].keys() == before[name].keys()
    assert after["routeradmin_cooldowns_total"]["class=unauthorized", "deployment=a"] == 1
    assert after["routeradmin_turns_total"]["halt=ineligible-failure",] == 1


def test_the_series_of_a_deleted_deployment_vanish(desk: Desk) -> None:
    desk.publish(catalog([deployment("a"), deployment("b", provider="q")]))
    for _ in range(8):
        desk.succeeded(desk.took(), input_tokens=1)
    desk.publish(catalog([deployment("b", provider="q")]))
    text = desk.call("GET", "/metrics").body.decode()
    assert 'deployment="b"' in text
    assert 'deployment="a"' not in text


def test_what_the_journal_dropped_and_what_is_out_of_reach_shows(desk: Desk) -> None:
    desk.runtime.journal.dropped_turns = 3
    desk.runtime.postponed.dropped = 2
    desk.runtime.degraded.add("database")
    found = scraped(desk)
    assert found["routeradmin_reports_dropped_total"] == {(): 2}
    assert found["routeradmin_journal_dropped_total"] == {("kind=changes",): 0, ("kind=turns",): 3}
    assert found["routeradmin_degraded"] == {
        ("dependency=database",): 1,
        ("dependency=store",): 0,
    }


def test_ids_of_any_characters_come_back_as_they_are(desk: Desk) -> None:
    odd = 'a"b\\c ü'
    desk.publish(catalog([deployment(odd)]))
    assert (f"deployment={odd}",) in scraped(desk)["routeradmin_deployment_state"]


def gate_samples(gate: Gateway) -> Samples:
    return samples(gate.get("/metrics").body.decode())


def test_calls_made_here_are_told_in_the_words_of_gen_ai(gate: Gateway) -> None:
    gate.use(catalogs.document(gate.upstream, "a"))
    assert gate.post().status == 200
    found = gate_samples(gate)
    call = ("gen_ai_operation_name=chat", "gen_ai_provider_name=acme")
    assert found["gen_ai_client_operation_duration_seconds_count"][call] == 1
    for kind in ("input", "output"):
        labels = (*call, f"gen_ai_token_type={kind}")
        assert found["gen_ai_client_token_usage_count"][labels] == 1
        assert found["gen_ai_client_token_usage_sum"][labels] > 0
    assert found["routeradmin_overhead_seconds_count"]["operation=inference",] == 1
    assert found["routeradmin_requests_in_flight"] == {(): 0}


def test_calls_that_failed_are_told_apart_by_the_class_of_their_error(gate: Gateway) -> None:
    gate.use(catalogs.document(gate.upstream, "a", policy={"retry": catalogs.BRIEF}))
    gate.script("a", {"status": 500}, {})
    assert gate.post().status == 200
    call = ("gen_ai_operation_name=chat", "gen_ai_provider_name=acme")
    durations = gate_samples(gate)["gen_ai_client_operation_duration_seconds_count"]
    assert durations == {call: 1, ("error_type=transient", *call): 1}


def test_a_stream_has_a_first_token_and_a_retried_turn_a_wait(gate: Gateway) -> None:
    gate.use(catalogs.document(gate.upstream, "a", policy={"retry": catalogs.BRIEF}))
    gate.script("a", {"status": 500}, {})
    assert gate.post(stream=True).status == 200
    found = gate_samples(gate)
    assert found["routeradmin_first_token_seconds_count"] == {("deployment=a",): 1}
    assert found["routeradmin_queue_seconds_count"] == {(): 1}
    assert found["routeradmin_attempts_total"] == {
        ("class=success", "deployment=a"): 1,
        ("class=transient", "deployment=a"): 1,
    }


def test_no_label_holds_what_a_caller_sent(gate: Gateway) -> None:
    document = catalogs.document(gate.upstream, "a", alias="acme-*")
    gate.use(document)
    sentinel = "acme-zq9sentinel"
    body: dict[str, Any] = chat(sentinel, user=sentinel)
    body["messages"][0]["content"] = sentinel
    gate.post(body, headers={"x-routeradmin-session": sentinel, "x-request-id": sentinel})
    assert sentinel not in gate.get("/metrics").body.decode()


def test_in_flight_counts_what_is_being_carried_out(gate: Gateway) -> None:
    gate.use(catalogs.document(gate.upstream, "a"))
    gate.script("a", {"delay_ms": 60_000})
    with gate.open_stream():
        gate.until(lambda: gate.runtime.meters.in_flight == 1)
        assert gate_samples(gate)["routeradmin_requests_in_flight"] == {(): 1}
    gate.until(lambda: gate.runtime.meters.in_flight == 0)
