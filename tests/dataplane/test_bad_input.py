"""Bad input gets the right 4xx in the right shape, with words that say what to do."""

from __future__ import annotations

from typing import Any

import pytest

from routeradmin.adapters.redaction import Redactor
from tests.dataplane.desk import Desk
from tests.engine.world import catalog, deployment


@pytest.fixture(autouse=True)
def _catalog(desk: Desk) -> None:
    desk.publish(catalog([deployment("a")]))


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({}, "model"),
        ({"model": ""}, "model"),
        ({"model": 5}, "model"),
        ({"model": "m", "temprature": 1}, "temprature"),
        ({"model": "m", "input_tokens": "12"}, "input_tokens"),
        ({"model": "m", "input_tokens": -1}, "input_tokens"),
        ({"model": "m", "input_tokens": 1.5}, "input_tokens"),
        ({"model": "m", "lease_ttl_s": 0}, "lease_ttl_s"),
        ({"model": "m", "lease_ttl_s": 3601}, "lease_ttl_s"),
        ({"model": "m", "requires": ["telepathy"]}, "requires.0"),
        ({"model": "m", "exclude": "a"}, "exclude"),
        ({"model": "m", "api": "soap"}, "api"),
        ([], "(body)"),
        ("m", "(body)"),
    ],
)
def test_a_body_against_its_schema_is_422_and_names_the_field(
    desk: Desk, body: Any, param: str
) -> None:
    answer = desk.call("POST", "/api/v1/select", body)
    assert (answer.status, answer.code) == (422, "invalid_request")
    assert answer.error["param"] == param
    assert answer.error["type"] == "invalid_request_error"


@pytest.mark.parametrize("raw", [b"{", b'{"model": "m"', b"\xff\xfe", b"{'model': 'm'}", b"nan"])
def test_bad_json_is_400(desk: Desk, raw: bytes) -> None:
    answer = desk.call("POST", "/api/v1/select", raw=raw)
    assert (answer.status, answer.code) == (400, "invalid_json")


def test_a_body_of_ten_megabytes_is_413_after_it_was_read(desk: Desk) -> None:
    answer = desk.call("POST", "/api/v1/select", {"model": "x" * 10_000_000})
    assert (answer.status, answer.code) == (413, "request_too_large")


def test_a_wrong_method_names_the_right_one(desk: Desk) -> None:
    answer = desk.call("GET", "/api/v1/select")
    assert (answer.status, answer.code) == (405, "method_not_allowed")
    assert answer.headers["allow"] == "POST"


@pytest.mark.parametrize("path", ["/api/v1/leases/x/steal", "/v1/nothing", "/v1"])
def test_paths_of_this_plane_answer_404_in_its_own_shape(desk: Desk, path: str) -> None:
    answer = desk.call("POST", path, {})
    assert (answer.status, answer.code) == (404, "not_found")


def test_values_are_not_echoed(desk: Desk) -> None:
    answer = desk.call("POST", "/api/v1/select", {"model": "m", "session": {"k": "SENTINEL"}})
    assert answer.status == 422
    assert b"SENTINEL" not in answer.body


@pytest.mark.parametrize("given", ["abc-123", "x" * 128])
def test_a_sane_request_id_is_given_back(desk: Desk, given: str) -> None:
    answer = desk.call("GET", "/healthz", headers=[("x-request-id", given)], token=None)
    assert answer.headers["x-request-id"] == given


@pytest.mark.parametrize("given", ["", "x" * 129, "two words", "caf\u00e9"])
def test_an_odd_request_id_is_replaced(desk: Desk, given: str) -> None:
    answer = desk.call("GET", "/healthz", headers=[("x-request-id", given)], token=None)
    assert answer.headers["x-request-id"] != given
    assert len(answer.headers["x-request-id"]) == 32


def test_a_request_id_that_holds_a_secret_is_replaced(desk: Desk) -> None:
    secret = "canary-4Kq8Zp2Xw9Lm"
    desk.runtime.secrets.redactor = Redactor([secret])
    answer = desk.call("GET", "/healthz", headers=[("x-request-id", f"a-{secret[2:14]}")])
    assert secret[2:10] not in answer.headers["x-request-id"]


def test_readiness_is_open_and_names_what_is_degraded(desk: Desk) -> None:
    desk.runtime.degraded.add("database")
    answer = desk.call("GET", "/readyz", token=None)
    assert (answer.status, answer.json["degraded"]) == (200, ["database"])
    desk.runtime.accepting = False
    assert desk.call("GET", "/readyz", token=None).status == 503


def test_a_fault_of_our_own_is_500_without_its_details(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    def broken() -> float:
        raise RuntimeError("SENTINEL")

    desk.runtime.clock = broken
    answer = desk.select()
    assert (answer.status, answer.code) == (500, "internal_error")
    assert b"SENTINEL" not in answer.body
    assert "SENTINEL" in caplog.text
