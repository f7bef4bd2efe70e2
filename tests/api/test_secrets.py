"""A secret goes in and never comes out, whatever is asked and whatever goes wrong."""

from __future__ import annotations

from typing import Any

import pytest

from routeradmin.services.runtime import Runtime
from tests import factories as make
from tests.api.client import Api, problem
from tests.api.test_rights import address, operations

SECRET = "sk-live-0123456789abcdefXYZ"
OTHER = "sk-other-0123456789abcdefXYZ"


@pytest.fixture
def sealed(stocked: Api) -> Api:
    answer = stocked.post("/credentials", make.account("vault", secret=SECRET))
    assert answer.status_code == 201, answer.content
    return stocked


def test_a_secret_is_shown_as_a_fingerprint_and_a_date(sealed: Api, runtime: Runtime) -> None:
    item = sealed.get("/credentials/vault").json()
    assert item["secret_fingerprint"]
    assert item["secret_changed_at"] == "2026-01-01T00:00:00.000Z"
    assert "secret" not in item
    assert SECRET not in str(item)
    held = runtime.secrets.get(runtime.current.snapshot.deployments["acme-large"].credentials[0])
    assert held is None  # the other credential's was not given yet

    answer = sealed.post("/credentials/vault/secret", {"secret": OTHER})
    assert answer.json()["secret_fingerprint"] != item["secret_fingerprint"]
    again = sealed.post("/credentials/vault/secret", {"secret": OTHER})
    assert again.content == answer.content


def test_a_credential_that_is_put_back_keeps_its_secret(sealed: Api) -> None:
    read = sealed.get("/credentials/vault")
    item = {k: v for k, v in read.json().items() if not k.startswith("secret_f")}
    item.pop("secret_changed_at")
    put = sealed.put("/credentials/vault", item, if_match=read.headers["ETag"])
    assert put.json() == read.json()


@pytest.mark.parametrize("mask", ["***", "•••••••", "********", "", "   "])
def test_a_mask_never_becomes_a_secret(sealed: Api, mask: str) -> None:
    before = sealed.get("/credentials/vault").content
    answer = sealed.post("/credentials/vault/secret", {"secret": mask})
    places = problem(answer, 422, "invalid_request")["errors"]
    assert [place["pointer"] for place in places] == ["/secret"]
    assert sealed.get("/credentials/vault").content == before


def test_no_answer_of_any_operation_holds_it(sealed: Api) -> None:
    sealed.post("/credentials/vault/secret", {"secret": OTHER})
    for method, path, _ in operations():
        filled = address(path).replace("nobody", "vault")
        answer = sealed.call(method, filled, {"secret": SECRET}, if_match='"0"')
        whole = answer.content.decode() + str(answer.headers)
        for secret in (SECRET, OTHER):
            for start in range(len(secret) - 7):
                assert secret[start : start + 8] not in whole, (method, filled)


def test_a_secret_kept_outside_is_not_replaced_here(sealed: Api) -> None:
    sealed.post("/credentials", make.account("outside", secret_reference_id="env:SOME_KEY"))
    answer = sealed.post("/credentials/outside/secret", {"secret": SECRET})
    refused: dict[str, Any] = problem(answer, 422, "invalid_request")
    assert [place["pointer"] for place in refused["errors"]] == ["/secret"]
    problem(sealed.post("/credentials/nobody/secret", {"secret": SECRET}), 404, "not_found")
