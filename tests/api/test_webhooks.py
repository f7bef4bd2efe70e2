"""Webhooks over the API: made, tested, changed; signing secrets never come back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from asgiref.sync import async_to_sync
from django.http import HttpResponse
from django.test import AsyncClient

from routeradmin.adapters import webhooks
from routeradmin.adapters.sealing import Sealer
from routeradmin.alerting.models import Incident, Webhook
from routeradmin.services import publishing
from routeradmin.services.changes import Actor, rotate_sealing
from routeradmin.services.runtime import Runtime
from tests.api.client import Api, key_with, problem
from tests.conftest import FakeClock
from tests.receiver import Receiver, receiver

GIVEN = "whsec_" + "QUJD" * 10
CHAT = "https://hooks.example/services/T000/B000/XXXXsecretXXXX"
BODY = {"name": "pager", "url": "https://hooks.example/x?token=1", "events": ["journal.drops"]}


@pytest.fixture
def hook() -> Iterator[Receiver]:
    with receiver() as held:
        yield held


def try_out(api: Api, runtime: Runtime, id: str) -> HttpResponse:
    """The test action as the server runs it."""

    async def on_a_loop() -> HttpResponse:
        try:
            headers = {"authorization": f"Bearer {api.token}"}
            path = f"/api/v1/webhooks/{id}/test"
            answer: Any = await AsyncClient().post(
                path, {}, content_type="application/json", headers=headers
            )
        finally:
            await runtime.upstream.close()
        return answer  # type: ignore[no-any-return]

    return async_to_sync(on_a_loop)()


def test_a_signing_secret_that_was_made_is_shown_once(api: Api) -> None:
    answer = api.post("/webhooks", BODY)
    assert answer.status_code == 201, answer.content
    assert answer.headers["Cache-Control"] == "no-store"
    made = answer.json()
    secret = made.pop("signing_secret")
    assert secret.startswith("whsec_")
    assert made == made | BODY | {"is_enabled": True, "failures": 0, "last_status": None}
    path = f"/webhooks/{made['id']}"
    assert api.get(path).json() == made
    for place in (path, "/webhooks", "/audit"):
        assert secret not in api.get(place).content.decode()
    assert secret not in Webhook.objects.get().ciphertext


def test_a_given_secret_is_not_sent_back(api: Api, runtime: Runtime) -> None:
    made = api.post("/webhooks", {**BODY, "secret": GIVEN})
    assert made.json()["signing_secret"] is None
    assert GIVEN not in made.content.decode()
    (target,) = runtime.alerts.targets
    assert target.secret.reveal() == GIVEN


def test_the_audit_says_whom_an_address_leads_to_and_not_what_lets_one_post_there(
    api: Api,
) -> None:
    made = api.post("/webhooks", BODY).json()
    body = {"url": "https://hooks.example/T0/token-2"}
    assert api.patch(f"/webhooks/{made['id']}", body, if_match="*").status_code == 200
    updated, created = api.get("/audit?kind=webhooks").json()["items"]
    (_, first), (before, after) = created["changes"]["url"], updated["changes"]["url"]
    assert first == before != after
    assert all(told.startswith("https://hooks.example/… (") for told in (first, after))
    assert "token" not in api.get("/audit").content.decode()


def test_an_address_is_in_no_entry_of_the_audit_log(api: Api) -> None:
    """Whoever has a chat's address can write there, and every reader has the audit log."""
    path = f"/webhooks/{api.post('/webhooks', BODY | {'url': CHAT}).json()['id']}"
    moved = CHAT.replace("secret", "moved!")
    assert api.patch(path, {"url": moved}, if_match="*").status_code == 200
    assert api.patch(path, {"url": moved, "name": "bell"}, if_match="*").status_code == 200
    api.call("DELETE", path, if_match="*")
    reader = Api(key_with("read"))
    problem(reader.get("/webhooks"), 403, "insufficient_scope")
    for place in ("/audit", "/audit/export", "/audit/export?format=json", "/events", "/state"):
        told = reader.get(place).content.decode()
        assert "B000" not in told, place
        assert "XXXX" not in told, place
    renamed = reader.get("/audit?kind=webhooks").json()["items"][1]
    assert renamed["changes"] == {"name": ["pager", "bell"]}


def test_a_refusal_does_not_repeat_an_address(api: Api) -> None:
    for url in (f"{CHAT}#x", f"{CHAT} x", CHAT.replace("https", "ftp"), CHAT + "x" * 4096, [CHAT]):
        refused = api.post("/webhooks", BODY | {"url": url})
        assert refused.status_code == 422
        assert "XXXX" not in refused.content.decode()


def test_every_wrong_field_is_named_at_once(api: Api) -> None:
    body = {"name": "x", "url": "http://169.254.169.254/", "events": ["rain"], "secret": "***"}
    refused = problem(api.post("/webhooks", body), 422, "invalid_request")
    assert {place["pointer"] for place in refused["errors"]} == {"/url", "/events", "/secret"}
    assert not Webhook.objects.exists()


@pytest.mark.parametrize(
    "url", ["ftp://x.example/", "http://10.0.0.1/", "https://u:p@x.example/", "https://x/#a", "x"]
)
def test_an_address_that_cannot_be_posted_to_is_refused(api: Api, url: str) -> None:
    problem(api.post("/webhooks", {"name": "x", "url": url}), 422, "invalid_request")


def test_it_is_changed_under_its_etag_and_deleted(api: Api, runtime: Runtime) -> None:
    made = api.post("/webhooks", BODY)
    path, etag = f"/webhooks/{made.json()['id']}", made.headers["ETag"]
    changed = api.patch(path, {"is_enabled": False, "secret": GIVEN}, if_match=etag)
    assert changed.json()["is_enabled"] is False
    assert changed.json()["fingerprint"] != made.json()["fingerprint"]
    problem(api.patch(path, {"name": "y"}, if_match=etag), 412, "stale")
    put = api.call("PUT", path, {"name": "p", "url": BODY["url"]}, if_match="*").json()
    assert (put["events"], put["is_enabled"]) == ([], True)
    assert put["fingerprint"] == changed.json()["fingerprint"]
    assert api.call("DELETE", path, if_match="*").status_code == 204
    assert list(runtime.alerts.targets) == []
    actions = [one["action"] for one in api.get("/audit?kind=webhooks").json()["items"]]
    assert actions == ["delete", "update", "update", "create"]


def test_a_test_message_is_sent_at_once_and_its_result_kept(
    api: Api, runtime: Runtime, hook: Receiver
) -> None:
    hook.statuses[:] = [503, 200]
    made = api.post("/webhooks", {"name": "pager", "url": hook.url, "is_enabled": False}).json()
    answer = try_out(api, runtime, made["id"]).json()
    assert answer == answer | {"ok": False, "status": 503, "detail": "the receiver answered 503"}
    assert api.get(f"/webhooks/{made['id']}").json()["failures"] == 1
    assert try_out(api, runtime, made["id"]).json()["ok"] is True
    shown = api.get(f"/webhooks/{made['id']}").json()
    assert (shown["failures"], shown["last_status"], shown["last_error"]) == (0, 200, "")
    (_, (headers, body)) = hook.got
    content = orjson.loads(body)
    assert (content["type"], content["data"]["by"]) == ("test", "key:tests")
    secret = next(iter(runtime.alerts.targets)).secret
    at_s = int(headers["webhook-timestamp"])
    assert (
        headers["webhook-signature"]
        == (webhooks.headers(secret, headers["webhook-id"], at_s, body)["webhook-signature"])
    )


def test_testing_what_is_not_there_is_not_found(api: Api) -> None:
    problem(api.post("/webhooks/nobody/test"), 404, "not_found")


def test_rotating_the_encryption_key_seals_webhooks_anew(api: Api, runtime: Runtime) -> None:
    api.post("/webhooks", {**BODY, "secret": GIVEN})
    new = "bmV3LWtleS1uZXcta2V5LW5ldy1rZXktbmV3LWtleTE="
    old = "c2l4dGVlbi1ieXRlcyEhc2l4dGVlbi1ieXRlcyEhMDA="
    runtime.sealer = Sealer([new, old])
    assert rotate_sealing(Actor("command")) == 1
    assert Sealer([new]).open(Webhook.objects.get().ciphertext).reveal() == GIVEN


def test_another_processs_webhook_is_caught_up_with(
    api: Api, runtime: Runtime, clock: FakeClock
) -> None:
    sealed = runtime.sealer.seal(GIVEN)
    Webhook.objects.create(
        uid="wh_1", name="x", url="https://x.example/", ciphertext=sealed, fingerprint="f"
    )
    publishing.catch_up(runtime)
    assert [target.id for target in runtime.alerts.targets] == ["wh_1"]


def test_what_was_sent_is_listed_attempt_by_attempt(
    api: Api, runtime: Runtime, hook: Receiver
) -> None:
    made = api.post("/webhooks", BODY | {"url": hook.url}).json()
    path = f"/webhooks/{made['id']}/deliveries"
    assert api.get(path).json() == {"items": [], "next_cursor": None, "total": 0}
    hook.statuses[:] = [500, 204]
    try_out(api, runtime, made["id"])
    try_out(api, runtime, made["id"])
    second, first = api.get(path).json()["items"]
    assert (first["ok"], first["status"], first["detail"]) == (
        False,
        500,
        "the receiver answered 500",
    )
    assert (second["ok"], second["status"], second["type"]) == (True, 204, "test")
    assert second["message_id"] != first["message_id"]
    assert [one["status"] for one in api.get(f"{path}?status=500").json()["items"]] == [500]
    assert api.get("/webhooks/nobody/deliveries").status_code == 404


def test_incidents_are_listed_and_those_that_go_on_by_themselves(api: Api) -> None:
    for subject, ended in (("a", None), ("b", "2026-01-02T00:00:00Z")):
        Incident.objects.create(
            type="route.without_target",
            subject=subject,
            process="p",
            began_at="2026-01-01T00:00:00Z",
            ended_at=ended,
        )
    states = {one["subject"]: one["state"] for one in api.get("/incidents").json()["items"]}
    assert states == {"a": "open", "b": "ended"}
    (going_on,) = api.get("/incidents/open").json()["items"]
    assert (going_on["subject"], going_on["ended_at"]) == ("a", None)
