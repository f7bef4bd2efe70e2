"""Keys that stand in clear text in another program's file: sealed as the file is imported."""

from __future__ import annotations

from collections.abc import Mapping

from routeradmin.adapters.references import is_reference
from routeradmin.catalog.problems import Invalid, Problem, pointer
from routeradmin.services.changes.commit import Draft
from routeradmin.services.changes.stored_secrets import store, usable


def keep(draft: Draft, given: Mapping[str, str]) -> None:
    """Store each value under the reference that names it, and report it by its fingerprint.

    A value that is stored there already changes nothing. Raises Invalid with the place of every
    account whose key cannot be one.
    """
    problems: list[Problem] = []
    for index, account in enumerate(draft.after.accounts):
        reference = account.secret_reference_id or ""
        if reference not in given or is_reference(reference) or reference in draft.secrets:
            continue
        try:
            store(draft, account.id, reference, usable(given[reference]))
        except Invalid as why:
            place = pointer("accounts", index, "secret_reference_id")
            problems += [Problem(place, f"the file's key {one.detail}") for one in why.problems]
    if problems:
        raise Invalid(problems)
