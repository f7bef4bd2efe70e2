"""What a key may use is asked at every select, also of a turn that began when it might use more."""

from __future__ import annotations

import pytest

from routeradmin.engine.policy import FallbackLists, Policy, RetryPolicy
from tests.dataplane.catalogs import document
from tests.dataplane.desk import ALL_SCOPES, Desk
from tests.dataplane.serving import Gateway
from tests.dataplane.test_socket import ask, opened
from tests.engine.world import catalog, deployment, route

TOKEN = "rk_narrowed-0123456789"


def may(desk: Desk, *routes: str) -> None:
    desk.let("narrowed", TOKEN, ALL_SCOPES, frozenset(routes))


def gone_on(desk: Desk, turn: str, model: str = "m") -> tuple[int, str | None]:
    answer = desk.select(model, turn=turn, secret=True, token=TOKEN)
    return answer.status, answer.code if answer.status != 200 else None


def failed_once(desk: Desk, model: str = "m") -> str:
    """A turn whose first attempt is over."""
    lease = desk.took(model, token=TOKEN)
    path = f"/api/v1/leases/{lease['lease_id']}/report"
    told = desk.call("POST", path, {"outcome": "failure", "status": 429}, token=TOKEN)
    assert told.json["next"]["action"] == "next"
    return str(lease["turn"])


DENIED = (403, "model_access_denied")


def test_a_turn_goes_on_only_while_its_key_may_use_the_route(desk: Desk) -> None:
    desk.publish(catalog([deployment("a"), deployment("b"), deployment("c")]))
    may(desk, "r")
    turn = failed_once(desk)
    may(desk, "other")
    assert gone_on(desk, turn) == DENIED
    assert desk.select(turn=turn, token=TOKEN, explain=True).code == "model_access_denied"
    assert sum(state.active for state in desk.runtime.store.states()) == 0
    may(desk, "r")
    assert gone_on(desk, turn) == (200, None), "a refusal ends no turn"


def test_a_lease_under_way_is_reported_though_the_route_is_lost(desk: Desk) -> None:
    desk.publish(catalog([deployment("a")]))
    may(desk, "r")
    lease = desk.took(token=TOKEN)
    may(desk, "other")
    assert gone_on(desk, lease["turn"]) == DENIED
    for verb, body in (("renew", {}), ("report", {"outcome": "success"})):
        path = f"/api/v1/leases/{lease['lease_id']}/{verb}"
        assert desk.call("POST", path, body, token=TOKEN).status == 200


def test_a_name_that_another_route_answers_to_by_now_is_judged_by_that_one(desk: Desk) -> None:
    deployments = [deployment("a"), deployment("b")]
    pattern = route(["a", "b"], id="pattern", alias="m*")
    desk.publish(catalog(deployments, pattern))
    may(desk, "pattern")
    turn = failed_once(desk, "m-1")
    desk.publish(catalog(deployments, pattern, route(["a", "b"], id="exact", alias="m-1")))
    assert gone_on(desk, turn, "m-1") == DENIED
    may(desk, "exact")
    assert gone_on(desk, turn, "m-1") == (200, None)


@pytest.mark.parametrize("resumed", [False, True])
def test_the_fallback_routes_of_a_route_come_with_it(desk: Desk, resumed: bool) -> None:
    lists = FallbackLists(general=("spare",), rate_limit=("spare",))
    policy = Policy("p", retry=RetryPolicy(max_attempts=1), fallback=lists)
    asked = route(["a"], policy_id="p", fallback_enabled=True)
    spare = route(["b"], id="spare", alias="spare")
    desk.publish(catalog([deployment("a"), deployment("b")], asked, spare, policies={"p": policy}))
    may(desk, "r")
    turn = failed_once(desk)
    found = desk.took(token=TOKEN, **({"turn": turn} if resumed else {}))
    assert (found["route"], found["deployment"]) == ("spare", "b")
    assert desk.select("spare", token=TOKEN).code == "model_access_denied"


def test_a_socket_is_held_to_what_its_key_may_now(gate: Gateway) -> None:
    gate.use(document(gate.upstream, ["a", "b"]))
    gate.key(TOKEN)
    with opened(gate, TOKEN) as socket:
        lease = ask(socket, "select", model="chat")["body"]
        ask(socket, "report", lease["lease_id"], outcome="failure", status=429)
        gate.key(TOKEN, routes=frozenset({"other"}))
        for turn in (lease["turn"], None):
            answer = ask(socket, "select", model="chat", turn=turn)
            code = answer["body"]["error"]["code"]
            assert (answer["status"], code) == DENIED
        gate.key(TOKEN, scopes=frozenset({"select"}))
        answer = ask(socket, "select", model="chat", turn=lease["turn"], secret=True)
        assert answer["body"]["error"]["code"] == "insufficient_scope"
        gate.key(TOKEN, expires_at=gate.clock.now)
        assert ask(socket, "renew", lease["lease_id"])["status"] == 401
