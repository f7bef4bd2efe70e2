"""Import shows what would change before it changes; export is what can be imported again."""

from __future__ import annotations

import hashlib
import json
from io import BytesIO

from django.test import Client

from routeradmin.services import changes
from routeradmin.services.runtime import Runtime
from tests import factories as make
from tests.console.conftest import BY


def file_of(values: dict[str, object], name: str = "catalog.json") -> BytesIO:
    file = BytesIO(json.dumps(values).encode())
    file.name = name
    return file


def test_a_preview_changes_nothing_and_the_second_step_applies_it(
    catalog: Runtime, as_admin: Client
) -> None:
    values = make.catalog(providers=[make.provider(), make.provider("fresh")])
    answer = as_admin.post("/transfer", {"file": file_of(values), "mode": "merge"})
    page = answer.content.decode()
    assert "+ providers fresh" in page
    assert catalog.current.revision == 1
    form = answer.context["form"]
    given = {name: form[name].value() for name in ("text", "mode", "revision", "looked")}
    answer = as_admin.post("/transfer", {**given, "do": "apply"})
    assert answer["Location"] == "/revisions/2"


def test_a_preview_that_is_out_of_date_is_not_applied(catalog: Runtime, as_admin: Client) -> None:
    text = json.dumps(make.catalog(providers=[make.provider(), make.provider("fresh")]))
    changes.update("deployments", "near/by", {"weight": 9}, BY, if_match="*")
    looked = hashlib.sha256(text.encode()).hexdigest()
    given = {"text": text, "mode": "merge", "revision": "1", "looked": looked, "do": "apply"}
    answer = as_admin.post("/transfer", given)
    assert answer.status_code == 409
    assert "The catalog was changed since" in answer.content.decode()
    assert catalog.current.revision == 2


def test_a_file_that_was_not_looked_at_is_not_applied(catalog: Runtime, as_admin: Client) -> None:
    text = json.dumps(make.catalog(providers=[make.provider(), make.provider("fresh")]))
    given = {"text": text, "mode": "merge", "revision": "1", "looked": "0" * 64, "do": "apply"}
    answer = as_admin.post("/transfer", given)
    assert answer.status_code == 409
    assert "not the one that was looked at" in answer.content.decode()
    assert catalog.current.revision == 1


def test_a_broken_file_lists_every_problem_with_its_place(
    catalog: Runtime, as_admin: Client
) -> None:
    values = make.catalog(providers=[make.provider("bad id")], models=[make.model(upstream_name=7)])
    answer = as_admin.post("/transfer", {"file": file_of(values), "mode": "merge"})
    page = answer.content.decode()
    assert answer.status_code == 422
    assert "/providers/0/id" in page
    assert "/models/0/upstream_name" in page


SECRET = "sk-literal-0123456789abcdef"
LITELLM = f"""
model_list:
  - model_name: far
    litellm_params: {{model: openai/gpt-4o, api_key: {SECRET}}}
litellm_settings: {{drop_params: true}}
"""


def test_another_programs_file_is_looked_at_and_applied_without_its_keys_on_the_page(
    catalog: Runtime, as_admin: Client
) -> None:
    answer = as_admin.post("/transfer", {"text": LITELLM, "mode": "merge"})
    page = answer.content.decode()
    assert "Read as <b>a LiteLLM proxy configuration" in page
    assert "/litellm_settings/drop_params" in page
    assert "+ secret openai-key-001" in page
    assert SECRET[:11] not in page
    form = answer.context["form"]
    names = ("sealed", "text", "mode", "revision", "looked")
    given = {name: form[name].value() or "" for name in names}
    answer = as_admin.post("/transfer", {**given, "do": "apply"})
    assert answer["Location"] == "/revisions/2"
    held = catalog.secrets.by_id("openai-key-001")
    assert held is not None
    assert held.reveal() == SECRET


def test_a_broken_file_of_another_program_is_not_shown_either(
    catalog: Runtime, as_admin: Client
) -> None:
    answer = as_admin.post("/transfer", {"text": LITELLM + "\t- x", "mode": "merge"})
    assert answer.status_code == 422
    assert "line 6" in answer.content.decode()
    assert SECRET[:11] not in answer.content.decode()


def test_a_refused_file_of_another_program_tells_what_it_leaves_open_and_keeps_the_form(
    catalog: Runtime, as_admin: Client
) -> None:
    taken = LITELLM.replace("model_name: far", "model_name: gpt é/ä")
    headers = {"HX-Request": "true"}
    answer = as_admin.post("/transfer", {"text": taken, "mode": "merge"}, headers=headers)
    part = answer.content.decode()
    assert answer.status_code == 422
    assert "<code>/model_list/0</code>" in part
    assert "/litellm_settings/drop_params" in part
    # The form, and what was typed into it, stays in the browser: nothing of it is sent back.
    assert part.lstrip().startswith('<div id="outcome"')
    assert "<textarea" not in part
    assert "kept sealed" not in part
    assert SECRET[:11] not in part


def test_without_javascript_it_is_said_that_the_file_is_kept_sealed(
    catalog: Runtime, as_admin: Client
) -> None:
    page = as_admin.post("/transfer", {"text": LITELLM, "mode": "merge"}).content.decode()
    assert "kept sealed for the next step" in page
    assert SECRET[:11] not in page
    typed = json.dumps(make.catalog(providers=[make.provider("bad id")]))
    page = as_admin.post("/transfer", {"text": typed, "mode": "merge"}).content.decode()
    assert "kept sealed" not in page
    assert "bad id" in page


def test_a_sealed_file_of_somebody_elses_making_is_refused(
    catalog: Runtime, as_admin: Client
) -> None:
    answer = as_admin.post("/transfer", {"sealed": "nonsense", "mode": "merge", "do": "apply"})
    assert answer.status_code == 422
    assert "choose it again" in answer.content.decode()


def test_an_export_holds_references_and_imports_without_a_change(
    catalog: Runtime, as_admin: Client
) -> None:
    for format in ("toml", "json"):
        answer = as_admin.get(f"/export/catalog.{format}")
        assert answer["Content-Disposition"] == f'attachment; filename="catalog-r1.{format}"'
        file = BytesIO(answer.content)
        file.name = "again"
        answer = as_admin.post("/transfer", {"file": file, "mode": "replace"})
        assert "Nothing: the catalog holds all of it already" in answer.content.decode()


def test_a_viewer_may_export_and_not_import(catalog: Runtime, as_viewer: Client) -> None:
    assert as_viewer.get("/export/catalog.toml").status_code == 200
    assert as_viewer.post("/transfer", {"text": "x", "mode": "merge"}).status_code == 403


def test_nothing_chosen_is_told(catalog: Runtime, as_admin: Client) -> None:
    answer = as_admin.post("/transfer", {"mode": "merge"})
    assert answer.status_code == 422
    assert "Choose a file or paste its text" in answer.content.decode()
