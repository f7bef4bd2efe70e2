"""Whatever is sent: the right 4xx with words that help, never a 500, never a lost edit."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.process.server import Answer, Server, until

TEN_MB = b'{"model": "' + b"x" * 10_000_000 + b'"}'
PROVIDER = {"id": "spare", "category": "cloud"}
ENDPOINT = {"id": "elsewhere", "account_id": "open"}


def words_of(answer: Answer) -> str:
    """The message of either plane's error shape."""
    body = answer.json()
    assert isinstance(body, dict)
    if "error" in body:
        return str(body["error"]["message"])
    return json.dumps(body)


DECISIONS: list[tuple[str, str, Any, int, str]] = [
    ("POST", "/api/v1/select", b"{", 400, "JSON"),
    ("POST", "/api/v1/select", b"\xff\xfe", 400, "JSON"),
    ("POST", "/api/v1/select", b'{"model": "chat", "model": ', 400, "JSON"),
    ("POST", "/api/v1/select", b"[1, 2]", 422, ""),
    ("POST", "/api/v1/select", b"", 422, "model"),
    ("POST", "/api/v1/select", {}, 422, "model"),
    ("POST", "/api/v1/select", {"model": 7}, 422, "model"),
    ("POST", "/api/v1/select", {"model": None}, 422, "model"),
    ("POST", "/api/v1/select", {"model": "chat", "colour": "red"}, 422, "colour"),
    ("POST", "/api/v1/select", {"model": "chat", "input_tokens": -1}, 422, "input_tokens"),
    ("POST", "/api/v1/select", {"model": "chat", "input_tokens": "many"}, 422, "input_tokens"),
    ("POST", "/api/v1/select", {"model": "chat", "lease_ttl_s": 0}, 422, "lease_ttl_s"),
    ("POST", "/api/v1/select", {"model": "chat", "lease_ttl_s": 1e300}, 422, "lease_ttl_s"),
    ("POST", "/api/v1/select", {"model": "chat", "turn": "unknown"}, 404, "turn"),
    ("POST", "/api/v1/select", {"model": "nobody"}, 404, "nobody"),
    ("POST", "/api/v1/select", {"model": "lab:nothing"}, 404, "lab:nothing"),
    ("POST", "/api/v1/select", {"model": "\x00\U0001f4a9"}, 404, ""),
    ("POST", "/api/v1/select", TEN_MB, 413, "larger"),
    ("GET", "/api/v1/select", None, 405, "POST"),
    ("POST", "/api/v1/explain", {"model": "nobody"}, 404, "nobody"),
    ("POST", "/api/v1/simulate", {"model": "chat", "draws": 10**9}, 422, "draws"),
    ("POST", "/api/v1/leases/unknown/report", {"outcome": "success"}, 404, "unknown"),
    ("POST", "/api/v1/leases/unknown/report", {"outcome": "splendid"}, 422, "outcome"),
    ("POST", "/api/v1/leases/unknown/renew", {}, 404, "unknown"),
    ("POST", "/api/v1/leases/unknown/release", {}, 404, "unknown"),
    ("POST", "/api/v1/leases/%00/report", {"outcome": "success"}, 404, ""),
    ("POST", "/api/v1/leases//report", {"outcome": "success"}, 404, ""),
]

MANAGEMENT: list[tuple[str, str, Any, int, str]] = [
    ("GET", "/api/v1/nonsense", None, 404, ""),
    ("GET", "/api/v1/providers/nobody", None, 404, "nobody"),
    ("GET", "/api/v1/turns/nobody", None, 404, ""),
    ("GET", "/api/v1/revisions/999999999999999999999", None, 404, ""),
    ("GET", "/api/v1/revisions/x", None, 404, ""),
    ("GET", "/api/v1/events?limit=-1", None, 422, "limit"),
    ("GET", "/api/v1/providers?cursor=garbage", None, 422, "cursor"),
    ("GET", "/api/v1/providers?sort=colour", None, 422, "sort"),
    ("POST", "/api/v1/providers", b"{", 400, "JSON"),
    ("POST", "/api/v1/providers", b"[]", 422, ""),
    ("POST", "/api/v1/providers", {}, 422, "id"),
    ("POST", "/api/v1/providers", {**PROVIDER, "id": "lab"}, 409, "lab"),
    ("POST", "/api/v1/providers", {**PROVIDER, "colour": "red"}, 422, "colour"),
    ("POST", "/api/v1/providers", {**PROVIDER, "category": 7}, 422, "category"),
    ("POST", "/api/v1/providers", {**PROVIDER, "id": "x" * 100_000}, 422, "id"),
    ("POST", "/api/v1/providers", {**PROVIDER, "name": "\x00"}, 422, "name"),
    ("POST", "/api/v1/endpoints", {**ENDPOINT, "base_url": "nonsense"}, 422, "base_url"),
    ("POST", "/api/v1/endpoints", {**ENDPOINT, "base_url": "ftp://a.example/"}, 422, "http"),
    ("POST", "/api/v1/endpoints", {**ENDPOINT, "base_url": "http://a:b@c.example/"}, 422, "user"),
    ("POST", "/api/v1/endpoints", {**ENDPOINT, "base_url": "http://169.254.169.254/"}, 422, ""),
    ("POST", "/api/v1/endpoints", {**ENDPOINT, "base_url": "http://metadata/"}, 422, "metadata"),
    ("POST", "/api/v1/endpoints", {**ENDPOINT, "base_url": "http://[::1"}, 422, "base_url"),
    ("POST", "/api/v1/aliases", {"name": "again", "target": "nobody"}, 422, "nobody"),
    ("POST", "/api/v1/aliases", {"name": "self", "target": "self"}, 422, "self"),
    ("POST", "/api/v1/cooldowns", {"deployment": "nobody", "seconds": 5}, 404, "nobody"),
    ("POST", "/api/v1/cooldowns", {"deployment": "one", "seconds": -5}, 422, "seconds"),
    ("POST", "/api/v1/cooldowns", {"deployment": "one", "seconds": "NaN"}, 422, "seconds"),
    ("POST", "/api/v1/deployments/nobody/drain", {}, 404, "nobody"),
    ("POST", "/api/v1/deployments/one/drain", {"limit_s": -1}, 422, "limit_s"),
    ("POST", "/api/v1/deployments/nobody/probe", {}, 404, "nobody"),
    ("POST", "/api/v1/keys", {"name": "x", "scopes": ["everything"]}, 422, "scopes"),
    ("DELETE", "/api/v1/providers/lab", None, 428, "If-Match"),
    ("PATCH", "/api/v1/providers/lab", {"name": "Lab"}, 428, "If-Match"),
]


def named(case: tuple[str, str, Any, int, str]) -> str:
    method, path, body, status, _ = case
    return f"{method} {path} {str(body)[:60]} {status}"


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "words"),
    [pytest.param(*case, id=named(case)) for case in DECISIONS + MANAGEMENT],
)
def test_bad_input_gets_the_right_4xx_and_words_that_help(
    shared: Server, method: str, path: str, body: Any, status: int, words: str
) -> None:
    revision = shared.get("/api/v1/state")["revision"]
    answer = shared.call(method, path, body)
    assert answer.status == status, answer.body[:600]
    assert words in words_of(answer)
    assert "Traceback" not in answer.body.decode()
    assert shared.get("/api/v1/state")["revision"] == revision


def test_a_catalog_with_problems_lists_them_all_and_applies_nothing(shared: Server) -> None:
    toml = {"content-type": "application/toml", "if-match": "*"}
    bad = b"""
        format = "routeradmin.catalog/1"
        [[endpoints]]
        id = "far"
        account_id = "missing"
        base_url = "nonsense"
        [[aliases]]
        name = "lost"
        target = "nowhere"
    """
    before = shared.call("GET", "/api/v1/catalog").body
    answer = shared.call("PUT", "/api/v1/catalog", bad, headers=toml)
    assert answer.status == 422
    listed = json.dumps(answer.json()["errors"])
    assert "base_url" in listed
    broken = shared.call("PUT", "/api/v1/catalog", b"not = = toml", headers=toml)
    assert 400 <= broken.status < 500
    huge = shared.call("PUT", "/api/v1/catalog", b"#" * 17_000_000, headers=toml)
    assert huge.status in (413, 422)
    assert shared.call("GET", "/api/v1/catalog").body == before


def test_a_stale_edit_is_refused_and_the_first_one_stays(shared: Server) -> None:
    path = "/api/v1/models/small"
    first = shared.call("GET", path).headers["etag"]
    mine = shared.call("PATCH", path, {"name": "Mine"}, headers={"if-match": first})
    assert mine.status == 200
    theirs = shared.call("PATCH", path, {"name": "Theirs"}, headers={"if-match": first})
    assert theirs.status == 412
    assert shared.get(path)["name"] == "Mine"


def test_an_expired_lease_is_fenced_and_says_how_its_turn_goes_on(shared: Server) -> None:
    lease = shared.post("/api/v1/select", {"model": "chat", "lease_ttl_s": 1})
    path = f"/api/v1/leases/{lease['lease_id']}"
    until(lambda: shared.get("/api/v1/state")["now"] > lease["expires_at"], 5)
    answer = shared.call("POST", f"{path}/report", {"outcome": "success", "status": 200})
    assert answer.status == 409
    assert answer.json()["error"]["next"]["action"] == "done"
    assert "renew" in words_of(answer)
