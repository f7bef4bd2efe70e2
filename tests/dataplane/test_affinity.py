"""Sessions that stay with a candidate, and what identifies a session."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.dataplane.catalogs import document
from tests.dataplane.serving import Gateway

SAID = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hello there"}]


def served(gate: Gateway, headers: dict[str, str] | None = None, **body: Any) -> str:
    asked = {"model": "chat", "messages": SAID, **body}
    answer = gate.post(asked, headers=headers or {})
    assert answer.status == 200, answer.body
    return answer.headers["x-routeradmin-deployment"]


def use(gate: Gateway, *tiers: Any, ttl: float = 3600, **facts: Any) -> None:
    facts.setdefault("strategy", "round_robin")
    gate.use(document(gate.upstream, *(tiers or (["a", "b", "c"],)), affinity_ttl_s=ttl, **facts))


def affinity(gate: Gateway) -> dict[str, Any]:
    found: dict[str, Any] = gate.record["routing"]["affinity"]
    return found


@pytest.mark.parametrize(
    ("headers", "body", "source"),
    [
        ({"x-routeradmin-session": "s"}, {}, "x-routeradmin-session"),
        ({"x-claude-code-session-id": "s"}, {}, "x-claude-code-session-id"),
        ({}, {"metadata": {"user_id": "user_1_session_abc"}}, "metadata.user_id session"),
        (
            {},
            {"metadata": {"user_id": json.dumps({"session_id": "abc"})}},
            "metadata.user_id session",
        ),
        ({"session-id": "s"}, {}, "session-id"),
        ({"session_id": "s"}, {}, "session-id"),
        ({"x-session-id": "s"}, {}, "x-session-id"),
        ({"x-session-affinity": "s"}, {}, "x-session-affinity"),
        ({"x-client-request-id": "s"}, {}, "x-client-request-id"),
        ({}, {"session_id": "s"}, "session_id"),
        ({}, {"sessionId": "s"}, "session_id"),
        ({}, {"prompt_cache_key": "s"}, "prompt_cache_key"),
        ({}, {"conversation": "s"}, "conversation"),
        ({}, {"conversation": {"id": "s"}}, "conversation"),
        ({}, {"metadata": {"user_id": "ann"}}, "metadata.user_id"),
        ({}, {"conversation_id": "s"}, "conversation_id"),
        ({}, {}, "opening"),
    ],
)
def test_a_session_is_known_by_the_first_identifier(
    gate: Gateway, headers: dict[str, str], body: dict[str, Any], source: str
) -> None:
    use(gate)
    later = {"conversation_id": "other", **body} if source != "opening" else body
    first = served(gate, headers, **later)
    assert affinity(gate)["source"] == source
    assert {served(gate, headers, **later) for _ in range(4)} == {first}
    assert affinity(gate)["kept"] is True


def test_a_conversation_is_the_same_when_it_goes_on(gate: Gateway) -> None:
    use(gate)
    first = served(gate)
    longer = [*SAID, {"role": "assistant", "content": "hi"}, {"role": "user", "content": "more"}]
    assert {served(gate, messages=longer) for _ in range(3)} == {first}


def test_other_sessions_and_other_keys_are_not_bound_by_it(gate: Gateway) -> None:
    use(gate)
    gate.key("rk_another-0123456789abc")
    served(gate, {"session-id": "s"})
    served(gate, {"session-id": "other"})
    assert affinity(gate)["bound_to"] is None
    asked = {"model": "chat", "messages": SAID}
    gate.post(asked, headers={"session-id": "s"}, key="rk_another-0123456789abc")
    assert affinity(gate)["bound_to"] is None


def test_it_is_off_by_default_and_ends_with_its_time(gate: Gateway) -> None:
    use(gate, ttl=0)
    assert len({served(gate, {"session-id": "s"}) for _ in range(3)}) == 3
    assert gate.record["routing"] is None
    use(gate, ttl=60)
    served(gate, {"session-id": "s"})
    gate.clock.advance(61)
    served(gate, {"session-id": "s"})
    assert affinity(gate)["bound_to"] is None


def test_a_binding_yields_and_what_happened_is_told(gate: Gateway) -> None:
    use(gate, ["a", "b"])
    first = served(gate, {"session-id": "s"})
    other = "b" if first == "a" else "a"
    gate.script(first, {"status": 402}, {})
    assert served(gate, {"session-id": "s"}) == other  # the same turn goes on to it
    assert served(gate, {"session-id": "s"}) == other
    told = affinity(gate)
    assert (told["bound_to"], told["before"], told["kept"]) == (
        f"{other}/{other}",
        f"{first}/{first}",
        True,
    )
    gate.clock.advance(1801)
    gate.script(other, {"status": 402}, {})
    assert served(gate, {"session-id": "s"}) == first
    gate.clock.advance(1)
    assert served(gate, {"session-id": "s"}) == first


def test_explain_says_why_a_session_will_move_and_that_it_returns(gate: Gateway) -> None:
    use(gate, ["a", "b"])
    body = {"model": "chat", "session": "s"}
    first = gate.post(body, "/api/v1/select").json
    bound, other = first["deployment"], "b" if first["deployment"] == "a" else "a"
    assert gate.post(body, "/api/v1/explain").json["affinity"]["kept"] is True
    report = {"outcome": "failure", "status": 429, "retry_after": "600"}
    gate.post(report, f"/api/v1/leases/{first['lease_id']}/report")
    told = gate.post(body, "/api/v1/explain").json["affinity"]
    assert (told["bound_to"], told["kept"]) == (f"{bound}/{bound}", False)
    assert told["why"] == ["cooling-down"]
    second = gate.post(body, "/api/v1/select").json
    assert second["deployment"] == other
    gate.clock.advance(601)
    gate.post(report, f"/api/v1/leases/{second['lease_id']}/report")
    third = gate.post({**body, "explain": True}, "/api/v1/select").json
    told = third["explanation"]["affinity"]
    assert third["deployment"] == bound
    assert (told["bound_to"], told["why"]) == (f"{other}/{other}", ["cooling-down"])
    assert told["returned"] is True


def test_an_earlier_tier_comes_before_a_binding(gate: Gateway) -> None:
    use(gate, "a", "b")
    gate.script("a", {"status": 402}, {})
    assert served(gate, {"session-id": "s"}) == "b"
    gate.clock.advance(1801)
    assert served(gate, {"session-id": "s"}) == "a"
    assert affinity(gate)["why"] == ["earlier-tier"]


def test_names_of_sessions_are_not_kept(gate: Gateway) -> None:
    use(gate)
    served(gate, {"session-id": "zebra-session"})
    assert "zebra" not in repr(vars(gate.runtime.affinity))
    assert "zebra" not in json.dumps(gate.record)
