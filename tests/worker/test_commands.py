"""The commands around the catalog, as an operator types them."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from routeradmin.access.models import ApiKey
from routeradmin.catalog.models import Provider, Revision
from routeradmin.services import changes
from routeradmin.services.changes import Actor
from routeradmin.services.runtime import Runtime
from tests import factories as make

pytestmark = pytest.mark.usefixtures("runtime")


def run(*words: str) -> str:
    out = StringIO()
    call_command(*words, stdout=out, stderr=out)
    return out.getvalue()


@pytest.fixture
def catalog_file(tmp_path: Path) -> Path:
    path = tmp_path / "catalog.json"
    path.write_text(json.dumps(make.full_catalog()))
    return path


def test_a_key_is_printed_once_and_works(runtime: Runtime) -> None:
    token = run("create_key", "--name", "ci", "--scopes", "select, read").strip()
    assert runtime.keys.find(token, runtime.clock()) is not None


def test_a_key_as_json_has_its_fields_and_its_text() -> None:
    words = ("create_key", "--name", "ci", "--scopes", "read", "--routes", "a,b", "--json")
    out = StringIO()
    call_command(*words, stdout=out, stderr=StringIO())
    made = json.loads(out.getvalue())
    assert made["routes"] == ["a", "b"]
    assert made["id"] == ApiKey.objects.get().uid
    assert made["key"].startswith(made["prefix"])


def test_a_route_that_is_not_there_is_told_beside_the_key(catalog_file: Path) -> None:
    run("import_catalog", str(catalog_file))
    known = json.loads(catalog_file.read_text())["routes"][0]["id"]
    told = StringIO()
    words = ("create_key", "--name", "ci", "--scopes", "read", "--routes", f"{known},missing")
    call_command(*words, stdout=StringIO(), stderr=told)
    assert told.getvalue().startswith("warning: there is no route 'missing'")
    assert told.getvalue().count("warning") == 1
    assert known in told.getvalue()


def test_an_unknown_scope_is_refused_with_what_is_accepted() -> None:
    with pytest.raises(CommandError, match="inference"):
        run("create_key", "--name", "ci", "--scopes", "everything")


def test_an_import_is_published_and_repeating_it_changes_nothing(
    runtime: Runtime, catalog_file: Path
) -> None:
    assert "revision 1" in run("import_catalog", str(catalog_file), "--reason", "first")
    assert Revision.objects.get().reason == "first"
    assert "no difference" in run("import_catalog", str(catalog_file))
    assert Revision.objects.count() == 1


def test_a_dry_run_exits_with_two_when_it_would_change_something(catalog_file: Path) -> None:
    with pytest.raises(SystemExit) as ended:
        run("import_catalog", str(catalog_file), "--dry-run")
    assert ended.value.code == 2
    assert not Provider.objects.exists()
    run("import_catalog", str(catalog_file))
    assert "no difference" in run("import_catalog", str(catalog_file), "--dry-run")


def test_a_bad_file_is_refused_with_every_problem(tmp_path: Path) -> None:
    values: dict[str, Any] = make.catalog()
    values["serving_models"][0]["weight"] = -1
    values["targets"][0]["colour"] = "red"
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(values))
    with pytest.raises(CommandError) as refused:
        run("import_catalog", str(path))
    assert "/serving_models/0/weight" in str(refused.value)
    assert "/targets/0/colour" in str(refused.value)
    with pytest.raises(CommandError, match="cannot read"):
        run("import_catalog", str(tmp_path / "absent.toml"))


def test_a_file_of_another_program_is_told_apart_and_its_gaps_are_listed() -> None:
    with pytest.raises(SystemExit) as ended:
        run("import_catalog", "fixtures/foreign/litellm.yaml", "--dry-run")
    assert ended.value.code == 2
    told = run("import_catalog", "fixtures/foreign/litellm.yaml")
    assert "read as a file of litellm" in told
    assert "not mapped: /litellm_settings/" in told
    assert "note: /model_list/" in told
    assert "+ secret " in told
    assert "published as revision 1" in told
    assert "no difference" in run("import_catalog", "fixtures/foreign/litellm.yaml")
    with pytest.raises(CommandError, match="TOML"):
        run("import_catalog", "fixtures/foreign/litellm.yaml", "--format", "toml")


def test_a_refused_file_of_another_program_lists_its_gaps_as_well(tmp_path: Path) -> None:
    run("import_catalog", "fixtures/llm-catalog-example.toml")
    path = tmp_path / "config.yaml"
    path.write_text(
        "model_list:\n- model_name: x\n  litellm_params: {model: openai/m, api_key: two words}\n"
        "litellm_settings: {drop_params: true}\n"
    )
    err = StringIO()
    with pytest.raises(CommandError, match="/model_list/0: accounts openai-key-001"):
        call_command("import_catalog", str(path), stderr=err)
    assert "read as a file of litellm" in err.getvalue()
    assert "not mapped: /litellm_settings/drop_params" in err.getvalue()


class TestExplain:
    @pytest.fixture(autouse=True)
    def _example(self, runtime: Runtime) -> None:
        run("import_catalog", "fixtures/llm-catalog-example.toml")

    def test_marks_the_winner_and_names_what_is_against_the_others(self) -> None:
        told = run("explain", "code", "--input-tokens", "512", "--max-output-tokens", "256")
        assert "selected: coding-primary with local" in told
        assert "> 0  coding-primary  local-small/local  healthy  nothing against it" in told
        assert "  1  coding-secondary  remote-large/remote  healthy  fallback-disabled" in told

    def test_answers_what_the_api_answers(self) -> None:
        words = ("--input-tokens", "512", "--max-output-tokens", "256", "--json")
        found = json.loads(run("explain", "code", *words))
        assert found["selected_target_id"] == "coding-primary"
        assert found["config_digest"].startswith("1365b05f")
        bindings = [one["provenance"]["binding_revision"][:8] for one in found["targets"]]
        assert bindings == ["1a6ea40f", "5dd662a7"]

    def test_tells_every_reason_in_order(self) -> None:
        needs = ("--requires", "tools", "--tool-choice", "required", "--reasoning-effort", "high")
        sampling = ("--temperature", "1", "--top-p", "0.5")
        tokens = ("--max-output-tokens", "2000", "--input-tokens", "4000", "--json")
        found = json.loads(run("explain", "code", *needs, *sampling, *tokens))
        assert found["targets"][0]["rejections"] == [
            "tools",
            "tool-choice",
            "temperature",
            "top-p",
            "reasoning-effort",
            "output-limit",
            "context-window",
        ]

    @pytest.mark.parametrize(
        ("words", "against"),
        [
            (("--max-output-tokens", "128", "--input-tokens", "3968"), []),
            (("--max-output-tokens", "128", "--input-tokens", "3969"), ["context-window"]),
            (("--input-tokens", "3072"), []),
            (("--input-tokens", "3073"), ["context-window"]),
            ((), ["input-tokens-unknown"]),
        ],
    )
    def test_meets_the_window_exactly(self, words: tuple[str, ...], against: list[str]) -> None:
        found = json.loads(run("explain", "code", *words, "--json"))
        assert found["targets"][0]["rejections"] == against

    def test_draws_over_assumed_states(self) -> None:
        words = ("explain", "code", "--input-tokens", "9", "--draws", "50")
        assert "100.00%  local-small/local" in run(*words)
        told = run(*words, "--assume", "local-small/local:cooling,active=3")
        assert "selected: none" in told
        assert "refused  50" in told
        found = json.loads(run(*words, "--assume", "local-small/local:disabled", "--json"))
        assert found["refused"] == 50
        assert found["explanation"]["targets"][0]["rejections"] == ["disabled"]

    @pytest.mark.parametrize(
        ("words", "told"),
        [
            (("nobody",), "nobody"),
            (("code", "--requires", "colour"), "--requires"),
            (("code", "--temperature", "9"), "--temperature"),
            (("code", "--assume", "local-small/local"), "CANDIDATE:STATE"),
            (("code", "--assume", "local-small/local:asleep"), "CANDIDATE:STATE"),
            (("code", "--draws", "0"), "draws"),
        ],
    )
    def test_says_what_it_did_not_understand(self, words: tuple[str, ...], told: str) -> None:
        with pytest.raises(CommandError, match=told):
            run("explain", *words)


@pytest.mark.parametrize("format", ["toml", "json"])
def test_an_export_can_be_imported_again(catalog_file: Path, tmp_path: Path, format: str) -> None:
    run("import_catalog", str(catalog_file))
    exported = tmp_path / f"catalog.{format}"
    exported.write_text(run("export_catalog", "--format", format))
    assert "no difference" in run("import_catalog", str(exported), "--mode", "replace")


def test_rotating_and_retaining_tell_what_they_did() -> None:
    assert "sealed 0 secrets" in run("rotate_secret_key")
    assert "turns: 0 deleted" in run("retain", "--turn-days", "1")
    with pytest.raises(CommandError):
        run("retain", "--turn-days", "-1")


@pytest.mark.parametrize(
    "words",
    [("create_key", "--name", "ci", "--scopes", "read"), ("export_catalog",), ("retain",)],
)
def test_a_database_that_lacks_migrations_is_named_as_the_reason(words: tuple[str, ...]) -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE app = 'journal'")
    with pytest.raises(CommandError, match="migrate"):
        run(*words)


def test_load_intents_takes_the_shipped_ones_and_switches_them_on(runtime: Runtime) -> None:
    changes.replace_document(make.document(make.catalog()), Actor("command"), mode="replace")
    route = runtime.current.document.routes[0].id
    printed = run("load_intents", f"coding={route}", f"fast={route}", "--enable")
    assert "+ intents coding" in printed
    assert runtime.current.snapshot.has_intents
    assert {one.id for one in runtime.current.document.intents} == {"coding", "fast"}
    with pytest.raises(CommandError, match="must look like"):
        run("load_intents", "coding")
    with pytest.raises(CommandError, match="no intent was loaded"):
        run("load_intents", "coding=nowhere", "--overwrite")
