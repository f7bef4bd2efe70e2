"""What a route would do before it is saved: the same checks, compiler and choice, on a draft."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from routeradmin.catalog import validate
from routeradmin.catalog.compile import compile
from routeradmin.catalog.document import Document
from routeradmin.catalog.problems import Invalid
from routeradmin.engine.request import SelectRequest
from routeradmin.engine.simulate import simulate
from routeradmin.services import runtime as runtimes
from routeradmin.services.changes import nouns

DRAWS = 1000
SAMPLE_TOKENS = 512  # unknown ones would refuse all that declare a context window


def route(values: Mapping[str, Any]) -> dict[str, Any]:
    """``shares``, ``refused`` and ``explanation`` of a route's fields as the API takes them.

    Takes the present state as it is and changes nothing. Raises Invalid, as saving would.
    """
    runtime = runtimes.get()
    fields = dict(values)
    targets = nouns.parsed_targets(fields["id"], fields.pop("targets", []))
    entry: Any = nouns.parsed("routes", fields)
    after = _with_route(runtime.current.document, entry, targets)
    try:
        validate.check(after)
    except Invalid as invalid:
        raise nouns.relocated(invalid, after, "routes", entry.id) from invalid
    snapshot = compile(
        after,
        runtime.current.revision,
        {},  # how often a secret changed decides nothing here
        missing_secrets=runtime.secrets.missing,
        selectors=runtime.selectors,
    )
    name = entry.alias.replace("*", "any")
    found = simulate(
        snapshot,
        name,
        SelectRequest(model=name, input_tokens=SAMPLE_TOKENS),
        runtime.store,
        runtime.clock(),
        overlay={},
        draws=DRAWS,
        seed=Random().getrandbits(32),
    )
    return found.as_json()


def _with_route(document: Document, entry: Any, targets: list[Any]) -> Document:
    """The document with the route and exactly these targets of it."""
    gone = {one.id for one in document.targets if one.route_id == entry.id}
    document = nouns.replaced(document, "routes", [entry])
    return nouns.replaced(nouns.removed(document, "targets", gone), "targets", targets)
