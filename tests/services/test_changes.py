"""Every configuration write: refused whole or in force whole, with its revision and audit."""

from __future__ import annotations

import json
from typing import Any

import pytest

from routeradmin.catalog.canonical import digest
from routeradmin.catalog.models import Deployment, Provider, Revision
from routeradmin.catalog.models import Secret as SecretRow
from routeradmin.catalog.rows import load
from routeradmin.journal.models import AuditEntry, Event
from routeradmin.services import changes, publishing
from routeradmin.services.changes import Actor, Invalid
from routeradmin.services.runtime import Runtime
from tests import factories as make

ADA = Actor("user:ada", "127.0.0.1")


def given(runtime: Runtime, values: dict[str, Any] | None = None) -> None:
    changes.replace_document(make.document(values or make.full_catalog()), ADA, mode="replace")


def deployment(**fields: Any) -> dict[str, Any]:
    return make.deployment("new", **fields)


def test_a_created_object_is_stored_published_and_audited(runtime: Runtime) -> None:
    given(runtime)
    saved = changes.create("deployments", deployment(weight=3), ADA, "more room")
    assert (saved.id, saved.version, saved.changed) == ("new", 1, True)
    assert Deployment.objects.get(uid="new").weight == 3
    assert runtime.current.snapshot.deployments["new"].weight == 3
    assert runtime.current.revision == saved.revision == 2
    entry = AuditEntry.objects.first()
    assert entry is not None
    assert (entry.actor, entry.source, entry.action) == ("user:ada", "127.0.0.1", "create")
    assert (entry.kind, entry.object_id, entry.reason) == ("deployments", "new", "more room")
    assert entry.changes["weight"] == [None, 3]


def test_a_revision_holds_the_canonical_document_and_its_digest(runtime: Runtime) -> None:
    given(runtime)
    row = Revision.objects.get(number=1)
    assert row.digest == digest(load()) == runtime.current.snapshot.config_digest
    assert digest(changes.revision_document(row)) == row.digest
    assert row.author == "user:ada"


def test_an_update_changes_the_named_fields_only(runtime: Runtime) -> None:
    given(runtime)
    saved = changes.update("deployments", "acme-large", {"weight": 5}, ADA, if_match=1)
    assert saved.version == 2
    assert saved.values["weight"] == 5
    assert saved.values["priority"] == 7
    assert saved.values["capabilities"]["tools"] is True


def test_null_takes_a_field_back_to_its_default_and_tables_merge(runtime: Runtime) -> None:
    given(runtime)
    patch = {"rpm_limit": None, "weight": None, "capabilities": {"vision": True}}
    saved = changes.update("deployments", "acme-large", patch, ADA, if_match=1)
    assert saved.values["rpm_limit"] is None
    assert saved.values["weight"] == 1
    assert saved.values["capabilities"]["vision"] is True
    assert saved.values["capabilities"]["tools"] is True


def test_an_old_tab_does_not_undo_a_newer_save(runtime: Runtime) -> None:
    given(runtime)
    changes.update("deployments", "acme-large", {"weight": 5}, ADA, if_match=1)
    with pytest.raises(changes.Stale) as refused:
        changes.update("deployments", "acme-large", {"priority": 2}, ADA, if_match=1)
    assert refused.value.version == 2
    assert refused.value.current["weight"] == 5
    saved = changes.update("deployments", "acme-large", {"priority": 2}, ADA, if_match=2)
    assert (saved.version, saved.values["weight"], saved.values["priority"]) == (3, 5, 2)


def test_saving_an_object_unchanged_makes_no_revision(runtime: Runtime) -> None:
    given(runtime)
    audited = AuditEntry.objects.count()
    saved = changes.update(
        "deployments", "acme-large", {"weight": 0, "name": "Large at Acme"}, ADA, if_match=1
    )
    assert (saved.changed, saved.version, saved.revision) == (False, 1, 1)
    assert Revision.objects.count() == 1
    assert AuditEntry.objects.count() == audited


def test_a_wrong_field_is_named_below_the_object(runtime: Runtime) -> None:
    given(runtime)
    with pytest.raises(Invalid) as refused:
        changes.create("deployments", deployment(weight=-1, colour="red"), ADA)
    assert sorted(one.pointer for one in refused.value.problems) == ["/colour", "/weight"]
    with pytest.raises(Invalid) as refused:
        changes.create("deployments", deployment(model_id="nowhere"), ADA)
    assert [one.pointer for one in refused.value.problems] == ["/model_id"]
    assert not Deployment.objects.filter(uid="new").exists()
    assert Revision.objects.count() == 1


def test_a_wrong_target_is_named_by_its_place_in_the_route(runtime: Runtime) -> None:
    given(runtime)
    targets = [
        {"serving_model_id": "acme-large", "position": 0},
        {"serving_model_id": "nowhere", "position": 1},
    ]
    with pytest.raises(Invalid) as refused:
        changes.create("routes", {"id": "r", "alias": "r", "targets": targets}, ADA)
    assert [one.pointer for one in refused.value.problems] == ["/targets/1/serving_model_id"]


def test_a_route_is_saved_with_its_targets(runtime: Runtime) -> None:
    given(runtime)
    body = {
        "id": "r",
        "alias": "r",
        "targets": [{"serving_model_id": "acme-large", "position": 0}],
    }
    created = changes.create("routes", body, ADA)
    assert created.values["targets"] == [
        {"id": "r-1", "serving_model_id": "acme-large", "position": 0}
    ]
    targets = [{"id": "mine", "serving_model_id": "acme-second", "position": 0}]
    saved = changes.update("routes", "r", {"targets": targets}, ADA, if_match=1)
    assert (saved.version, saved.values["targets"]) == (2, targets)
    tiers = runtime.current.snapshot.routes["r"].tiers
    assert [one.deployment.id for one in tiers[0].candidates] == ["acme-second"]


def test_an_id_that_is_taken_is_refused(runtime: Runtime) -> None:
    given(runtime)
    with pytest.raises(changes.AlreadyExists):
        changes.create("providers", make.provider(), ADA)


def test_what_others_name_is_not_deleted_and_they_are_listed(runtime: Runtime) -> None:
    given(runtime)
    with pytest.raises(changes.InUse) as refused:
        changes.delete("deployments", "acme-second", ADA, if_match=1)
    assert {(one.noun, one.id) for one in refused.value.dependents} == {
        ("targets", "chat-2"),
        ("routes", "chat"),
        ("rules", "night"),
    }
    assert Deployment.objects.filter(uid="acme-second").exists()


def test_cascade_takes_targets_and_routes_left_without_one(runtime: Runtime) -> None:
    given(runtime)
    changes.delete("deployments", "acme-star", ADA, if_match="*", cascade=True)
    snapshot = runtime.current.snapshot
    assert "any" not in snapshot.routes
    assert snapshot.policies["careful"].fallback.general == ()
    changes.delete("deployments", "acme-second", ADA, if_match="*", cascade=True)
    route = runtime.current.snapshot.routes["chat"]
    assert [len(tier.candidates) for tier in route.tiers] == [2]
    assert route.preview == ()


def test_cascade_that_takes_a_whole_tier_moves_the_later_ones_up(runtime: Runtime) -> None:
    first = make.target()
    later = make.target("chat-2", serving_model_id="spare", position=1)
    deployments = [make.deployment(), make.deployment("spare")]
    given(runtime, make.catalog(serving_models=deployments, targets=[first, later]))
    changes.delete("deployments", "acme-large", ADA, if_match="*", cascade=True)
    assert [(one.id, one.position) for one in load().targets] == [("chat-2", 0)]


def test_a_tried_deletion_tells_all_that_would_go_and_changes_nothing(runtime: Runtime) -> None:
    given(runtime, make.catalog())
    tried = changes.delete("providers", "acme", ADA, if_match="*", cascade=True, dry_run=True)
    gone = {(one.kind, one.id) for one in tried.diff.removed}
    assert {("routes", "chat"), ("serving_models", "acme-large"), ("accounts", "acme-key")} <= gone
    assert runtime.current.revision == 1
    assert Provider.objects.exists()


def test_what_was_looked_at_in_another_revision_is_not_taken_away(runtime: Runtime) -> None:
    given(runtime, make.catalog())
    changes.update("models", "large", {"name": "L"}, ADA, if_match="*")
    with pytest.raises(changes.Stale):
        changes.rollback(1, ADA, if_match=1)
    with pytest.raises(changes.Stale):
        changes.delete("routes", "chat", ADA, if_match="*", cascade=True, revision=1)
    assert runtime.current.revision == 2


def test_a_provider_goes_with_all_that_needs_it(runtime: Runtime) -> None:
    given(runtime)
    changes.delete("providers", "acme", ADA, if_match="*", cascade=True)
    document = load()
    for kind in ("accounts", "serving_models", "routes", "aliases", "intents", "rules"):
        assert getattr(document, kind) == ()
    assert {model.id for model in document.models} == {"large", "star"}


def test_a_route_without_users_is_deleted_with_its_own_targets(runtime: Runtime) -> None:
    given(runtime, make.catalog())
    changes.delete("routes", "chat", ADA, if_match=1)
    assert load().targets == ()


def test_a_failed_transaction_changes_nothing(runtime: Runtime, monkeypatch: Any) -> None:
    given(runtime)
    before = runtime.current.snapshot

    def broken(*args: object) -> None:
        raise RuntimeError("the disk is full")

    monkeypatch.setattr(publishing, "compiled", broken)
    with pytest.raises(RuntimeError):
        changes.update("providers", "acme", {"category": "lab"}, ADA, if_match=1)
    assert runtime.current.snapshot is before
    assert Provider.objects.get(uid="acme").category == "cloud"
    assert Revision.objects.count() == 1


def test_an_import_is_all_or_nothing(runtime: Runtime) -> None:
    given(runtime)
    deployments = [make.deployment(f"n{number}") for number in range(1, 6)]
    deployments[3]["endpoint_id"] = "nowhere"
    with pytest.raises(Invalid) as refused:
        changes.replace_document(make.document(make.catalog(serving_models=deployments)), ADA)
    assert len(refused.value.problems) == 1
    assert "nowhere" in refused.value.problems[0].detail
    assert "endpoint_id" in refused.value.problems[0].pointer
    assert not Deployment.objects.filter(uid__startswith="n").exists()


def test_an_import_keeps_the_admin_state_where_the_file_is_silent(runtime: Runtime) -> None:
    given(runtime)
    changes.disable("acme-second", ADA)
    changes.drain("acme-large", ADA, limit_s=60)
    values = make.full_catalog()
    del values["serving_models"][0]["admin_state"], values["serving_models"][0]["drain_until"]
    values["serving_models"][1]["weight"] = 9
    values["serving_models"][2]["admin_state"] = "disabled"
    changes.replace_document(make.document(values), ADA)
    states = dict(Deployment.objects.values_list("uid", "admin_state"))
    assert states == {
        "acme-large": "draining",
        "acme-second": "disabled",
        "acme-star": "disabled",
    }
    assert Deployment.objects.get(uid="acme-second").weight == 9


def test_merge_keeps_what_the_file_does_not_name_and_replace_does_not(runtime: Runtime) -> None:
    given(runtime)
    changes.replace_document(make.document(make.catalog()), ADA, mode="merge")
    document = load()
    assert {one.id for one in document.serving_models} == {
        "acme-large",
        "acme-second",
        "acme-star",
    }
    assert {one.id for one in document.targets} == {"chat-1", "any-1"}
    changes.replace_document(make.document(make.catalog()), ADA, mode="replace")
    assert {one.id for one in load().serving_models} == {"acme-large"}


def test_a_dry_run_tells_the_difference_and_changes_nothing(runtime: Runtime) -> None:
    given(runtime)
    values = make.full_catalog()
    values["serving_models"][1]["weight"] = 9
    done = changes.replace_document(make.document(values), ADA, dry_run=True)
    assert done.diff.as_json()["changed"] == [
        {
            "kind": "serving_models",
            "id": "acme-second",
            "fields": {"weight": {"before": 1, "after": 9}},
        }
    ]
    assert Revision.objects.count() == 1
    same = changes.replace_document(make.document(make.full_catalog()), ADA, dry_run=True)
    assert not same.changed


def test_a_rollback_is_a_new_revision_that_keeps_admin_states(runtime: Runtime) -> None:
    given(runtime)
    changes.update("deployments", "acme-second", {"weight": 9}, ADA, if_match=1)
    changes.disable("acme-second", ADA)
    done = changes.rollback(1, ADA)
    assert done.revision == 4
    row = Deployment.objects.get(uid="acme-second")
    assert (row.weight, row.admin_state) == (1, "disabled")


def test_an_action_makes_a_revision_and_an_event_once(runtime: Runtime) -> None:
    given(runtime)
    done = changes.drain("acme-second", ADA, limit_s=90, reason="maintenance")
    assert done.values["drain_until"] == "2026-01-01T00:01:30.000Z"
    event = Event.objects.get(kind="draining")
    assert (event.deployment, event.set_by, event.message) == (
        "acme-second",
        "user:ada",
        "maintenance",
    )
    with pytest.raises(Invalid):
        changes.drain("acme-second", ADA, limit_s=1e300)
    changes.disable("acme-second", ADA)
    assert changes.disable("acme-second", ADA).changed is False
    assert changes.enable("acme-second", ADA).values["drain_until"] is None


@pytest.mark.parametrize(
    "url",
    ["http://169.254.169.254/v1", "http://metadata.google.internal/", "http://10.0.0.1/v1"],
)
def test_addresses_that_are_never_called_are_refused_when_saved(runtime: Runtime, url: str) -> None:
    given(runtime)
    with pytest.raises(Invalid) as refused:
        changes.update("endpoints", "acme-api", {"base_url": url}, ADA, if_match=1)
    assert [one.pointer for one in refused.value.problems] == ["/base_url"]


def test_one_edit_of_a_large_catalog_takes_few_queries(
    runtime: Runtime, django_assert_max_num_queries: Any
) -> None:
    given(runtime, make.wide_catalog(deployments=50, routes=20))
    with django_assert_max_num_queries(30):
        changes.update("deployments", "d7", {"weight": 2}, ADA, if_match=1)


def test_defaults_are_changed_with_their_own_version(runtime: Runtime) -> None:
    given(runtime)
    changes.update_defaults({"strategy": "fill_first"}, ADA, if_match=1)
    assert runtime.current.snapshot.defaults.strategy == "fill_first"
    with pytest.raises(changes.Stale):
        changes.update_defaults({"strategy": None}, ADA, if_match=1)
    with pytest.raises(Invalid) as refused:
        changes.update_defaults({"strategy": "best"}, ADA, if_match=2)
    assert [one.pointer for one in refused.value.problems] == ["/strategy"]


def test_no_row_of_the_journal_or_the_revisions_holds_a_secret(runtime: Runtime) -> None:
    given(runtime)
    sentinel = "sk-SENTINEL-1234567890"
    body = make.account("fresh", secret=sentinel)
    changes.create("credentials", body, ADA)
    changes.replace_secret("fresh", sentinel + "-next", ADA)
    rows = [
        *AuditEntry.objects.values(),
        *Event.objects.values(),
        *Revision.objects.values(),
        *SecretRow.objects.values(),
    ]
    assert "SENTINEL" not in json.dumps(rows, default=str)


def test_an_alias_is_made_pointed_elsewhere_and_not_renamed(runtime: Runtime) -> None:
    given(runtime)
    changes.create("aliases", {"name": "plauder", "target": "talk"}, ADA)
    assert runtime.current.snapshot.names["plauder"] == "chat"
    saved = changes.update("aliases", "plauder", {"target": "chat"}, ADA, if_match=1)
    assert (saved.version, saved.values["target"]) == (2, "chat")
    with pytest.raises(Invalid):
        changes.update("aliases", "plauder", {"name": "other"}, ADA, if_match=2)
    with pytest.raises(Invalid, match="plauder"):
        changes.update("aliases", "plauder", {"target": "plauder"}, ADA, if_match=2)


def test_a_policy_keeps_the_fields_a_patch_does_not_name(runtime: Runtime) -> None:
    given(runtime)
    patch = {"retry": {"max_attempts": 3}, "fallback": {"context_window": None}}
    saved = changes.update("policies", "careful", patch, ADA, if_match=1)
    assert saved.values["retry"]["max_attempts"] == 3
    assert saved.values["retry"]["jitter"] == 0.5
    assert saved.values["fallback"]["context_window"] is None
    assert saved.values["fallback"]["general"] == ["any"]
    assert saved.values["classify"][0]["class"] == "transient"


@pytest.mark.parametrize("noun", changes.EDITABLE)
def test_every_kind_is_read_as_it_was_written(runtime: Runtime, noun: str) -> None:
    """What the API shows can be sent back: nothing changes."""
    given(runtime)
    kind = changes.NOUNS[noun]
    for entry in getattr(runtime.current.document, kind):
        id = entry.name if noun == "aliases" else entry.id
        values = changes.values_of(runtime.current.document, noun, id)
        saved = changes.update(noun, id, values, ADA, if_match=1)
        assert (saved.changed, saved.values) == (False, values)


def test_an_import_based_on_an_older_revision_is_refused(runtime: Runtime) -> None:
    given(runtime)
    document = make.document(make.catalog())
    assert changes.replace_document(document, ADA, if_match=1).revision == 2
    with pytest.raises(changes.Stale) as refused:
        changes.replace_document(document, ADA, mode="replace", if_match=1)
    assert refused.value.version == 2
