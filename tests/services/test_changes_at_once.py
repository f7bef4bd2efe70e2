"""Many writers, large catalogs: one at a time, nothing lost, soon done."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from routeradmin.catalog.models import Deployment, Revision
from routeradmin.services import changes, publishing
from routeradmin.services.changes import Actor
from routeradmin.services.runtime import Runtime
from tests import factories as make

ADA = Actor("user:ada")


@pytest.fixture
def shared_runtime(transactional_db: None, bare_runtime: Runtime) -> Runtime:
    """On a database that several threads' transactions really share."""
    publishing.load(bare_runtime)
    bare_runtime.accepting = True
    return bare_runtime


def tagged(number: int) -> int:
    """Add one tag without a version; the revision it made."""
    try:
        return changes.create("providers", make.provider(f"p{number}"), ADA).revision
    finally:
        connection.close()


def test_writers_at_once_each_make_a_revision_of_their_own(shared_runtime: Runtime) -> None:
    changes.replace_document(make.document(), ADA)
    with ThreadPoolExecutor(4) as pool:
        revisions = sorted(pool.map(tagged, range(12)))
    assert revisions == list(range(2, 14))
    assert len(shared_runtime.current.document.providers) == 13
    assert Revision.objects.count() == 13


def outcome(weight: int) -> str:
    try:
        changes.update("deployments", "acme-large", {"weight": weight}, ADA, if_match=1)
    except changes.Stale:
        return "stale"
    finally:
        connection.close()
    return "saved"


def test_of_two_edits_of_one_version_one_is_refused(shared_runtime: Runtime) -> None:
    changes.replace_document(make.document(), ADA)
    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(outcome, [5, 6])) == ["saved", "stale"]
    assert Deployment.objects.get().version == 2


@pytest.mark.slow
def test_a_large_catalog_is_imported_in_seconds_and_an_edit_published_in_one(
    runtime: Runtime,
) -> None:
    document = make.document(make.wide_catalog(deployments=1000, routes=300))
    started = time.process_time()
    changes.replace_document(document, ADA)
    assert time.process_time() - started < 5
    started = time.process_time()
    changes.update("deployments", "d500", {"weight": 7}, ADA, if_match=1)
    assert time.process_time() - started < 1
    assert runtime.current.snapshot.deployments["d500"].weight == 7
