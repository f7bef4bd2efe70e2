"""Probing and testing a deployment by hand, against a provider on a loopback socket."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.http import HttpResponse
from django.test import AsyncClient

from routeradmin.adapters.simulated.provider import SimulatedProvider
from routeradmin.adapters.simulated.serving import running_in_thread
from routeradmin.services.runtime import Runtime
from tests import factories as make
from tests.api.client import Api, problem
from tests.api.conftest import stock

SECRET = "sk-simulated-0123456789"
Act = Callable[..., HttpResponse]


@pytest.fixture
def simulated() -> SimulatedProvider:
    return SimulatedProvider()


@pytest.fixture
def provider(simulated: SimulatedProvider) -> Iterator[str]:
    with running_in_thread(provider=simulated) as url:
        yield url


@pytest.fixture
def act(api: Api, runtime: Runtime) -> Act:
    """POST an action as the server does: the handler in a thread, upstream calls on the loop."""

    def post(path: str, body: Any = None) -> HttpResponse:
        async def on_a_loop() -> HttpResponse:
            try:
                answer = await AsyncClient().post(
                    f"/api/v1{path}",
                    body or {},
                    content_type="application/json",
                    headers={"authorization": f"Bearer {api.token}"},
                )
            finally:
                await runtime.upstream.close()
            return answer  # type: ignore[return-value]

        return async_to_sync(on_a_loop)()

    return post


def served_by(url: str, **fields: Any) -> None:
    values = make.catalog(endpoints=[make.endpoint(base_url=f"{url}/v1/")])
    values["serving_models"] = [make.deployment(**fields)]
    stock(values)


def steps_of(answer: HttpResponse) -> dict[str, bool | None]:
    assert answer.status_code == 200, answer.content
    return {step["name"]: step["ok"] for step in answer.json()["steps"]}  # type: ignore[attr-defined]


def test_a_probe_answers_what_it_met_and_how_candidates_stand(
    api: Api, act: Act, provider: str
) -> None:
    served_by(provider)
    api.post("/credentials/acme-key/secret", {"secret": SECRET})
    answer = act("/deployments/acme-large/probe", {"reason": "looks ill"})
    assert answer.status_code == 200, answer.content
    content = answer.json()  # type: ignore[attr-defined]
    (result,) = content["results"]
    assert (result["ok"], result["mode"], result["status"]) == (True, "models", 200)
    assert [one["id"] for one in content["candidates"]] == ["acme-large/acme-key"]
    entry = api.get("/audit?action=probe").json()["items"][0]
    assert (entry["object_id"], entry["reason"]) == ("acme-large", "looks ill")


def test_a_probe_of_a_silent_port_is_an_answer_not_an_error(api: Api, act: Act) -> None:
    served_by("http://127.0.0.1:9")
    api.post("/credentials/acme-key/secret", {"secret": SECRET})
    answer = act("/deployments/acme-large/probe", {"credential": "acme-key"})
    (result,) = answer.json()["results"]  # type: ignore[attr-defined]
    assert (result["ok"], result["class"]) == (False, "transient")
    (candidate,) = api.get("/state").json()["candidates"]
    assert candidate["health"] == "degraded"


def test_a_test_goes_all_the_way_to_a_first_token(api: Api, act: Act, provider: str) -> None:
    served_by(provider)
    api.post("/credentials/acme-key/secret", {"secret": SECRET})
    answer = act("/deployments/acme-large/test")
    steps = steps_of(answer)
    assert list(steps) == ["dns", "connection", "tls", "auth", "model", "first_token"]
    assert (steps["connection"], steps["auth"], steps["first_token"]) == (True, True, True)
    assert SECRET not in answer.content.decode()
    timed = [one["name"] for one in answer.json()["steps"] if one["duration_ms"] is not None]
    assert timed == ["dns", "connection", "tls", "auth", "first_token"]
    assert [one["state"] for one in api.get("/state").json()["candidates"]] == ["healthy"]


@pytest.mark.parametrize(
    ("kind", "step", "last_steps"),
    [
        ("models", {"status": 401}, {"auth": False, "model": None}),
        ("models", {"status": 404}, {"auth": None, "model": None, "first_token": True}),
        ("models", {"body": "no json"}, {"auth": True, "model": None, "first_token": True}),
        (
            "models",
            {"body": {"data": [{"id": "other"}]}},
            {"auth": True, "model": False, "first_token": True},
        ),
        ("chat", {"status": 429}, {"auth": True, "model": True, "first_token": False}),
        ("chat", {"refuse": True}, {"auth": True, "model": True, "first_token": False}),
    ],
)
def test_a_test_tells_what_each_step_met(
    api: Api,
    act: Act,
    provider: str,
    simulated: SimulatedProvider,
    kind: str,
    step: dict[str, Any],
    last_steps: dict[str, bool | None],
) -> None:
    listed = {"body": {"data": [{"id": "acme-large"}]}}
    simulated.put_script({"kind": "models", "steps": [listed]})
    simulated.put_script({"kind": kind, "steps": [step]})
    served_by(provider)
    api.post("/credentials/acme-key/secret", {"secret": SECRET})
    answer = act("/deployments/acme-large/test")
    steps = steps_of(answer)
    assert {name: steps[name] for name in list(steps)[3:]} == last_steps
    assert answer.json()["ok"] is (False not in steps.values())  # type: ignore[attr-defined]
    assert [one["state"] for one in api.get("/state").json()["candidates"]] == ["healthy"]


def test_a_test_of_tls_where_none_is_spoken_ends_there(api: Api, act: Act, provider: str) -> None:
    served_by(provider.replace("http://", "https://"))
    api.post("/credentials/acme-key/secret", {"secret": SECRET})
    steps = steps_of(act("/deployments/acme-large/test"))
    assert steps == {"dns": True, "connection": True, "tls": False}


def test_a_pattern_is_tested_as_far_as_no_name_is_needed(api: Api, act: Act, provider: str) -> None:
    values = make.catalog(
        endpoints=[make.endpoint(base_url=f"{provider}/v1/")],
        models=[make.model(upstream_name="acme-*")],
        routes=[make.route(alias="acme/*")],
    )
    stock(values)
    api.post("/credentials/acme-key/secret", {"secret": SECRET})
    steps = steps_of(act("/deployments/acme-large/test"))
    assert (steps["auth"], steps["model"], steps["first_token"]) == (True, None, None)


def test_a_test_stops_where_it_breaks(api: Api, act: Act) -> None:
    served_by("http://127.0.0.1:9")
    api.post("/credentials/acme-key/secret", {"secret": SECRET})
    assert steps_of(act("/deployments/acme-large/test")) == {"dns": True, "connection": False}


def test_a_test_without_a_secret_says_so(api: Api, act: Act, provider: str) -> None:
    served_by(provider)
    steps = steps_of(act("/deployments/acme-large/test"))
    assert steps == {"dns": True, "connection": True, "tls": None, "auth": False}


@pytest.mark.parametrize("verb", ["probe", "test"])
def test_who_is_not_there_is_not_looked_at(stocked: Api, verb: str) -> None:
    problem(stocked.post(f"/deployments/nobody/{verb}"), 404, "not_found")
    answer = stocked.post(f"/deployments/acme-large/{verb}", {"credential": "nobody"})
    problem(answer, 404, "not_found")
