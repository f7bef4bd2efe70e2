"""Every noun's life: created, read, listed, changed, replaced, deleted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from routeradmin.services.runtime import Runtime
from tests import factories as make
from tests.api.client import Api, problem


@dataclass(frozen=True)
class Life:
    """``body`` creates one beside the stocked catalog; ``change`` alters one field of it."""

    noun: str
    body: dict[str, Any]
    change: dict[str, Any]

    @property
    def id(self) -> str:
        return str(self.body["name" if self.noun == "aliases" else "id"])

    @property
    def path(self) -> str:
        return f"/{self.noun}/{self.id}"


LIVES = (
    Life("providers", make.provider("other/lab", name="Other"), {"tags": ["eu"]}),
    Life(
        "credentials",
        make.account("other-key", secret_reference_id="env:OTHER_KEY"),
        {"admin_state": "draining"},
    ),
    Life("endpoints", make.endpoint("other/api"), {"probe": {"mode": "models"}}),
    Life("models", make.model("vendor/other"), {"upstream_name": "vendor/newer"}),
    Life("deployments", make.deployment("vendor/other/test", weight=3), {"rpm_limit": 60}),
    Life(
        "routes",
        make.route(
            "other",
            targets=[{"id": "other-1", "serving_model_id": "acme-large", "position": 0}],
        ),
        {"strategy": "least_busy"},
    ),
    Life("aliases", {"name": "parler été", "target": "chat"}, {"target": "chat "}),
    Life("policies", {"id": "careful", "retry": {"jitter": 0.5}}, {"retry": {"max_attempts": 2}}),
    Life("rules", {"id": "night", "route_id": "chat", "only": ["acme-large"]}, {"position": 2}),
    Life("intents", {"id": "code", "route_id": "chat"}, {"keywords": ["python"]}),
)
each = pytest.mark.parametrize("life", LIVES, ids=lambda life: life.noun)


@each
def test_what_was_created_is_answered_listed_and_read(stocked: Api, life: Life) -> None:
    created = stocked.post(f"/{life.noun}", life.body)
    assert created.status_code == 201, created.content
    item = created.json()
    assert_holds(item, life.body)
    place = created.headers["Location"]
    assert place.isascii()
    assert stocked.get(place.removeprefix("/api/v1")).json() == item

    read = stocked.get(life.path)
    assert (read.status_code, read.json()) == (200, item)
    assert read.headers["ETag"] == created.headers["ETag"]
    listed = stocked.get(f"/{life.noun}").json()
    assert item in listed["items"]
    assert listed["total"] == len(listed["items"])


@each
def test_a_patch_changes_the_named_fields_and_no_other(stocked: Api, life: Life) -> None:
    before = stocked.post(f"/{life.noun}", life.body)
    after = stocked.patch(life.path, life.change, if_match=before.headers["ETag"])
    assert after.status_code == 200, after.content
    for name, value in before.json().items():
        if name not in life.change:
            assert after.json()[name] == value, name
    if life.noun != "aliases":  # its change is one of spelling: names are trimmed
        assert_holds(after.json(), life.change)
        assert after.headers["ETag"] != before.headers["ETag"]


@each
def test_what_was_read_and_put_back_changes_nothing(stocked: Api, life: Life) -> None:
    stocked.post(f"/{life.noun}", life.body)
    read = stocked.get(life.path)
    revision = stocked.get("/catalog").headers["ETag"]
    body = {name: value for name, value in read.json().items() if not name.startswith("secret_f")}
    body.pop("secret_changed_at", None)
    put = stocked.put(life.path, body, if_match=read.headers["ETag"])
    assert put.status_code == 200, put.content
    assert (put.json(), put.headers["ETag"]) == (read.json(), read.headers["ETag"])
    assert stocked.get("/catalog").headers["ETag"] == revision


@each
def test_a_put_takes_what_it_does_not_name_back_to_its_default(stocked: Api, life: Life) -> None:
    created = stocked.post(f"/{life.noun}", life.body)
    stocked.patch(life.path, life.change, if_match="*")
    kept = {name: created.json()[name] for name in life.body if name != "retry"}
    put = stocked.put(life.path, {**life.body, **kept}, if_match="*")
    assert put.status_code == 200, put.content
    if "admin_state" in life.change:
        assert put.json() == created.json() | life.change  # what people want of it stays
    else:
        assert put.json() == created.json()


@each
def test_what_was_deleted_is_gone_and_cannot_be_deleted_twice(stocked: Api, life: Life) -> None:
    created = stocked.post(f"/{life.noun}", life.body)
    gone = stocked.delete(life.path, if_match=created.headers["ETag"])
    assert (gone.status_code, gone.content) == (204, b"")
    problem(stocked.get(life.path), 404, "not_found")
    problem(stocked.delete(life.path, if_match="*"), 404, "not_found")
    assert life.id not in stocked.get(f"/{life.noun}").content.decode()


@each
def test_an_id_that_is_taken_is_refused(stocked: Api, life: Life) -> None:
    stocked.post(f"/{life.noun}", life.body)
    before = stocked.get(life.path).json()
    problem(stocked.post(f"/{life.noun}", life.body), 409, "already_exists")
    assert stocked.get(life.path).json() == before


@each
def test_an_id_cannot_be_changed(stocked: Api, life: Life) -> None:
    stocked.post(f"/{life.noun}", life.body)
    key = "name" if life.noun == "aliases" else "id"
    refused = problem(
        stocked.patch(life.path, {key: "another"}, if_match="*"), 422, "invalid_request"
    )
    assert [place["pointer"] for place in refused["errors"]] == [f"/{key}"]


@each
def test_an_unknown_field_is_named_and_nothing_is_changed(stocked: Api, life: Life) -> None:
    created = problem(
        stocked.post(f"/{life.noun}", {**life.body, "colour": "crimson"}), 422, "invalid_request"
    )
    assert [place["pointer"] for place in created["errors"]] == ["/colour"]
    problem(stocked.get(life.path), 404, "not_found")
    stocked.post(f"/{life.noun}", life.body)
    changed = stocked.patch(life.path, {**life.change, "colour": "crimson"}, if_match="*")
    assert [place["pointer"] for place in problem(changed, 422, "invalid_request")["errors"]] == [
        "/colour"
    ]
    assert "crimson" not in stocked.get(life.path).content.decode()


@each
def test_a_write_is_in_force_when_it_is_answered(
    stocked: Api, life: Life, runtime: Runtime
) -> None:
    before = runtime.current.revision
    stocked.post(f"/{life.noun}", life.body)
    assert runtime.current.revision == before + 1
    assert stocked.get("/state").json()["revision"] == before + 1


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("/providers/acme", "credentials"),
        ("/credentials/acme-key", "endpoints"),
        ("/endpoints/acme-api", "deployments"),
        ("/models/large", "deployments"),
        ("/deployments/acme-large", "targets"),
    ],
)
def test_what_others_name_is_deleted_only_with_them(stocked: Api, path: str, names: str) -> None:
    refused = problem(stocked.delete(path, if_match="*"), 409, "in_use")
    assert {one["kind"] for one in refused["dependents"]} == {names}
    assert stocked.get(path).status_code == 200

    assert stocked.delete(f"{path}?cascade=true", if_match="*").status_code == 204
    problem(stocked.get(path), 404, "not_found")
    problem(stocked.get("/routes/chat"), 404, "not_found")


def test_a_route_is_patched_with_its_targets_as_a_whole(stocked: Api) -> None:
    stocked.post("/deployments", make.deployment("second"))
    targets = [
        {"id": "b", "serving_model_id": "second", "position": 0},
        {"id": "a", "serving_model_id": "acme-large", "position": 1},
    ]
    answer = stocked.patch("/routes/chat", {"targets": targets}, if_match="*")
    assert answer.json()["targets"] == targets
    wrong = [{"serving_model_id": "nobody", "position": 0}]
    refused = stocked.patch("/routes/chat", {"targets": wrong}, if_match="*")
    places = problem(refused, 422, "invalid_request")["errors"]
    assert [place["pointer"] for place in places] == ["/targets/0/serving_model_id"]
    assert stocked.get("/routes/chat").json()["targets"] == targets


def test_an_object_whose_id_ends_like_an_action_stays_reachable(stocked: Api) -> None:
    stocked.post("/deployments", make.deployment("acme/test"))
    stocked.post("/deployments", make.deployment("acme/test/drain"))
    assert stocked.get("/deployments/acme/test").json()["id"] == "acme/test"
    assert stocked.get("/deployments/acme/test/drain").json()["id"] == "acme/test/drain"
    patched = stocked.patch("/deployments/acme/test/drain", {"weight": 5}, if_match="*")
    assert patched.json()["weight"] == 5
    drained = stocked.post("/deployments/acme/test/drain")
    assert (drained.json()["id"], drained.json()["admin_state"]) == ("acme/test", "draining")
    both = stocked.post("/deployments/acme/test/drain/drain").json()
    assert (both["id"], both["admin_state"]) == ("acme/test/drain", "draining")
    assert stocked.delete("/deployments/acme/test", if_match="*").status_code == 204


def assert_holds(item: dict[str, Any], expected: dict[str, Any]) -> None:
    """``item`` has all of ``expected``, tables compared field by field."""
    for name, value in expected.items():
        if isinstance(value, dict):
            assert_holds(item[name], value)
        else:
            assert item[name] == value, name
