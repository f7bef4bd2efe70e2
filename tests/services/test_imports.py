"""Importing whole files: refused with places, compared, sealed, all or nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from routeradmin.adapters.references import References
from routeradmin.catalog.models import Provider, Revision
from routeradmin.catalog.models import Secret as SecretRow
from routeradmin.journal.models import AuditEntry
from routeradmin.services import changes
from routeradmin.services.changes import Actor, Invalid
from routeradmin.services.runtime import Runtime
from tests import factories as make

ADA = Actor("user:ada")
KEY, OTHER_KEY = "sk-literal-0123456789", "sk-another-0123456789"


def litellm(key: str = KEY, name: str = "chat") -> bytes:
    return f"""
model_list:
  - model_name: {name}
    litellm_params:
      model: openai/gpt-4o
      api_key: {key}
litellm_settings:
  drop_params: true
""".encode()


def given(values: dict[str, Any] | None = None) -> None:
    changes.replace_document(make.document(values), ADA, mode="replace")


def places(invalid: Invalid) -> list[str]:
    return [problem.pointer for problem in invalid.problems]


class TestAProblemOfAMerge:
    def test_is_told_at_its_place_in_the_file(self, runtime: Runtime) -> None:
        given(make.wide_catalog(deployments=5, routes=2))
        values = {"format": "routeradmin.catalog/1", "serving_models": []}
        values["serving_models"] = [
            make.deployment("fine", endpoint_id="acme-api"),
            make.deployment("d3", endpoint_id="nowhere"),
        ]
        with pytest.raises(Invalid) as refused:
            changes.import_file(json.dumps(values).encode(), ADA)
        assert places(refused.value) == ["/serving_models/1/endpoint_id"]

    def test_that_is_about_what_the_file_does_not_hold_names_it(self, runtime: Runtime) -> None:
        given(make.catalog(serving_models=[make.deployment(account_ids=["acme-key"])]))
        values = {
            "format": "routeradmin.catalog/1",
            "providers": [make.provider("other")],
            "accounts": [make.account(provider_id="other"), make.account("new")],
            "endpoints": [make.endpoint(account_id="new")],
        }
        with pytest.raises(Invalid) as refused:
            changes.import_file(json.dumps(values).encode(), ADA)
        (problem,) = refused.value.problems
        assert problem.pointer == ""
        assert problem.detail.startswith("serving_models acme-large: ")

    @pytest.mark.parametrize("mode", ["merge", "replace"])
    def test_of_an_id_that_stands_twice_is_not_swallowed(self, runtime: Runtime, mode: Any) -> None:
        values = make.catalog(providers=[make.provider(), make.provider(category="lab")])
        with pytest.raises(Invalid) as refused:
            changes.import_file(json.dumps(values).encode(), ADA, mode=mode)
        assert places(refused.value) == ["/providers/1/id"]
        assert not Provider.objects.exists()


class TestOneAnswerNamesEveryProblem:
    def refusal(self, mode: Any = "replace", **tables: Any) -> list[str]:
        values = make.catalog(**tables)
        with pytest.raises(Invalid) as refused:
            changes.import_file(json.dumps(values).encode(), ADA, mode=mode)
        assert not Provider.objects.exists()
        return places(refused.value)

    @pytest.mark.parametrize("mode", ["merge", "replace"])
    def test_of_form_of_references_and_of_addresses(self, runtime: Runtime, mode: Any) -> None:
        assert self.refusal(
            mode,
            accounts=[make.account(), make.account("lost", provider_id="nowhere")],
            endpoints=[
                make.endpoint(),
                make.endpoint("bad", base_url="ftp://a.example"),
                make.endpoint("odd", zz=1),
                make.endpoint("meta", base_url="http://169.254.169.254/"),
            ],
        ) == [
            "/accounts/1/provider_id",
            "/endpoints/1/base_url",
            "/endpoints/2/zz",
            "/endpoints/3/base_url",
        ]

    def test_with_ids_that_stand_twice(self, runtime: Runtime) -> None:
        assert self.refusal(
            models=[make.model(), make.model()],
            accounts=[make.account(), make.account("lost", provider_id="nowhere")],
            endpoints=[make.endpoint(), make.endpoint("odd", zz=1)],
        ) == ["/accounts/1/provider_id", "/endpoints/1/zz", "/models/1/id"]
        assert self.refusal(
            models=[make.model(), make.model()],
            accounts=[make.account(), make.account("lost", provider_id="nowhere")],
        ) == ["/accounts/1/provider_id", "/models/1/id"]

    def test_and_blames_nothing_on_what_only_hangs_on_a_malformed_entry(
        self, runtime: Runtime
    ) -> None:
        assert self.refusal(providers=[make.provider(zz=1)]) == ["/providers/0/zz"]
        assert self.refusal(models=[make.model(zz=1)]) == ["/models/0/zz"]
        assert self.refusal(models="none") == ["/models"]
        targets = [{**make.catalog()["targets"][0], "position": "0"}]
        assert self.refusal(targets=targets) == ["/targets/0/position"]

    def test_in_a_file_of_the_smaller_grammar_too(self, runtime: Runtime) -> None:
        assert self.refusal(
            format="llm.catalog/1",
            models=[make.model(), make.model("named", name="x")],
            accounts=[make.account(), make.account("lost", provider_id="nowhere")],
        )[:2] == ["/accounts/1/provider_id", "/models/1/name"]


class TestAnAddress:
    @pytest.mark.parametrize("host", ["169.254.169.254", "metadata.google.internal", "10.0.0.1"])
    def test_of_a_proxy_is_judged_like_that_of_an_endpoint(
        self, runtime: Runtime, host: str
    ) -> None:
        values = make.catalog(endpoints=[make.endpoint(proxy=f"http://{host}:3128")])
        with pytest.raises(Invalid) as refused:
            changes.import_file(json.dumps(values).encode(), ADA)
        assert places(refused.value) == ["/endpoints/0/proxy"]

    def test_that_is_saved_already_does_not_stand_in_the_way(
        self, runtime: Runtime, settings: Any
    ) -> None:
        settings.PRIVATE_UPSTREAMS = "private"
        given(make.catalog(endpoints=[make.endpoint(proxy="http://10.0.0.1:3128")]))
        settings.PRIVATE_UPSTREAMS = "none"
        assert changes.update("models", "large", {"name": "L"}, ADA, if_match="*").changed


@pytest.mark.parametrize(
    ("noun", "id", "patch"),
    [
        ("deployments", "acme-large", {"account_ids": ["acme-key"]}),
        ("deployments", "acme-large", {"weight": 1, "probe": {"mode": "off"}}),
        ("routes", "chat", {"strategy": "simple_shuffle"}),
        ("providers", "acme", {"name": "acme", "admin_state": "enabled"}),
    ],
)
def test_stating_what_holds_anyway_makes_no_revision(
    runtime: Runtime, noun: str, id: str, patch: dict[str, Any]
) -> None:
    given()
    assert changes.update(noun, id, patch, ADA, if_match="*").changed is False
    assert Revision.objects.count() == 1


def test_a_statement_that_stops_being_implied_is_stored(runtime: Runtime) -> None:
    given(make.catalog(accounts=[make.account(), make.account("second")]))
    values = {
        "format": "routeradmin.catalog/1",
        "endpoints": [make.endpoint(account_id="second")],
        "serving_models": [make.deployment(account_ids=["acme-key"])],
    }
    changes.import_file(json.dumps(values).encode(), ADA)
    credentials = runtime.current.snapshot.deployments["acme-large"].credentials
    assert [one.id for one in credentials] == ["acme-key"]


class TestAFileOfAnotherProgram:
    def test_is_told_apart_and_its_literal_key_is_sealed(self, runtime: Runtime) -> None:
        file = changes.import_file(litellm(), ADA)
        assert file.source == "litellm"
        assert [one.place for one in file.unmapped] == ["/litellm_settings/drop_params"]
        assert file.imported.secrets == {"openai-key-001": "added"}
        assert KEY not in SecretRow.objects.get().ciphertext
        secret = runtime.secrets.by_id("openai-key-001")
        assert secret is not None
        assert secret.reveal() == KEY

    def test_changes_nothing_the_second_time(self, runtime: Runtime) -> None:
        changes.import_file(litellm(), ADA)
        again = changes.import_file(litellm(), ADA)
        assert (again.imported.changed, again.imported.secrets) == (False, {})
        assert Revision.objects.count() == 1

    def test_with_another_key_differs_by_that_alone(self, runtime: Runtime) -> None:
        changes.import_file(litellm(), ADA)
        tried = changes.import_file(litellm(OTHER_KEY), ADA, dry_run=True).imported
        assert (tried.changed, bool(tried.diff)) == (True, False)
        assert tried.secrets == {"openai-key-001": "replaced"}
        changes.import_file(litellm(OTHER_KEY), ADA)
        secret = runtime.secrets.by_id("openai-key-001")
        assert secret is not None
        assert secret.reveal() == OTHER_KEY

    def test_tried_out_leaves_no_trace(self, runtime: Runtime) -> None:
        tried = changes.import_file(litellm(), ADA, dry_run=True).imported
        assert (tried.changed, tried.secrets) == (True, {"openai-key-001": "added"})
        assert not SecretRow.objects.exists()
        assert not Revision.objects.exists()
        assert not AuditEntry.objects.exists()
        assert runtime.current.revision == 0

    def test_keeps_its_key_out_of_every_text(self, runtime: Runtime) -> None:
        file = changes.import_file(litellm(), ADA)
        entries = json.dumps(list(AuditEntry.objects.values_list("changes", "reason")))
        assert KEY not in repr(file) + entries + Revision.objects.get().document

    def test_with_a_key_that_cannot_be_one_is_refused_by_name(self, runtime: Runtime) -> None:
        with pytest.raises(Invalid) as refused:
            changes.import_file(litellm("two words of it"), ADA)
        (problem,) = refused.value.problems
        assert problem.pointer == "/model_list/0"
        told = "accounts openai-key-001 secret_reference_id: the file's key "
        assert problem.detail.startswith(told)
        assert "two words" not in str(refused.value)
        assert not Provider.objects.exists()

    @pytest.mark.parametrize("mask", ["'***'", "sk-xxxxxxxxxxxx", "<your key>"])
    def test_with_a_mask_for_a_key_has_none(self, runtime: Runtime, mask: str) -> None:
        file = changes.import_file(litellm(mask), ADA)
        assert file.imported.secrets == {}
        assert any("is not set" in one.detail for one in file.imported.warnings)

    def test_says_where_it_takes_the_place_of_something_else(self, runtime: Runtime) -> None:
        """Ids are made up by the reader: an entry of that id may be quite another."""
        changes.import_file(litellm(), ADA)
        other = litellm(OTHER_KEY).replace(b"openai/gpt-4o", b"openai/gpt-5")
        done = changes.import_file(other, ADA, dry_run=True).imported
        told = {(one.pointer, one.detail) for one in done.warnings}
        assert {
            (
                "/model_list/0",
                "serving_models chat: there is one of that id already: the file changes its "
                "model_id",
            ),
            (
                "/model_list/0",
                "accounts openai-key-001: the secret stored under that id is replaced by the "
                "file's key",
            ),
        } <= told

    def test_that_is_refused_tells_the_place_and_what_it_leaves_open(
        self, runtime: Runtime
    ) -> None:
        mine = [make.target(route_id="mine")]
        given(make.catalog(routes=[make.route("mine", alias="chat")], targets=mine))
        with pytest.raises(changes.Unfit) as refused:
            changes.import_file(litellm(), ADA)
        (problem,) = refused.value.problems
        assert problem.pointer == "/model_list/0"
        assert problem.detail.startswith("routes chat alias: ")
        assert refused.value.source == "litellm"
        assert [one.place for one in refused.value.unmapped] == ["/litellm_settings/drop_params"]

    def test_without_a_key_says_whose_it_takes_over(self, runtime: Runtime) -> None:
        changes.import_file(litellm(), ADA)
        file = changes.import_file(litellm("<your key>"), ADA, dry_run=True)
        told = [one.detail for one in file.imported.warnings]
        assert any("stored as openai-key-001 is used" in one for one in told)


class TestWhatIsWarnedOf:
    def details(self, values: dict[str, Any]) -> list[str]:
        done = changes.replace_document(make.document(values), ADA, mode="replace", dry_run=True)
        return [f"{one.pointer} {one.detail}" for one in done.warnings]

    def test_is_a_reference_that_leads_nowhere(self, runtime: Runtime) -> None:
        runtime.references = References({"SET": "sk-0123456789"})
        accounts = [
            make.account("acme-key", secret_reference_id="env:SET"),
            make.account("unset", secret_reference_id="env:UNSET"),
        ]
        models = [make.deployment(account_ids=["acme-key", "unset"])]
        (told,) = self.details(make.catalog(accounts=accounts, serving_models=models))
        assert told.startswith("/accounts/1/secret_reference_id env:UNSET is not set")

    def test_is_a_route_that_nobody_could_serve_now(self, runtime: Runtime) -> None:
        told = self.details(make.catalog())
        assert any(one.startswith("/routes/0 ") and "no-secret" in one for one in told)

    def test_is_a_credential_that_nobody_uses(self, runtime: Runtime) -> None:
        accounts = [make.account(), make.account("idle")]
        told = self.details(make.catalog(accounts=accounts))
        assert any(one.startswith("/accounts/1 ") for one in told)

    def test_comes_with_an_import_that_changes_nothing_too(self, runtime: Runtime) -> None:
        first = changes.replace_document(make.document(), ADA)
        again = changes.replace_document(make.document(), ADA)
        assert again.changed is False
        assert set(again.warnings) == set(first.warnings) != set()


def test_a_rollback_can_be_tried(runtime: Runtime) -> None:
    given()
    changes.update("deployments", "acme-large", {"weight": 7}, ADA, if_match="*")
    tried = changes.rollback(1, ADA, dry_run=True)
    assert tried.diff.as_text() == "~ serving_models acme-large: weight 7 -> 1"
    assert Revision.objects.count() == 2
