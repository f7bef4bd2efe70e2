"""Every refusal that needs more than one field, found at once, each at its place.

The order of the checks is the order in which llm.catalog/1 applies its refusals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from routeradmin.catalog.checks import (
    aliases,
    billing,
    intents,
    objects,
    policies,
    routes,
    warnings,
)
from routeradmin.catalog.checks.scope import Check, Scope, error
from routeradmin.catalog.document import KINDS, Document, key_of
from routeradmin.catalog.problems import Invalid, Problem, Severity

CheckUrl = Callable[[str], object]

ERRORS: tuple[Check, ...] = (
    objects.duplicate_ids,
    objects.accounts,
    objects.endpoints,
    objects.deployments,
    billing.deployments,
    routes.targets,
    routes.routes,
    billing.routes,
    aliases.aliases,
    policies.policies,
    policies.rules,
    policies.intents,
    policies.defaults,
    policies.intent_settings,
)
WARNINGS: tuple[Check, ...] = (
    warnings.fallback_cycles,
    warnings.idle_routes,
    warnings.unused_tiers,
    warnings.unused_accounts,
    warnings.zero_weights,
    warnings.idle_rules,
    intents.unknown_defaults,
    intents.remote_judges,
    intents.nowhere_local,
)


def problems(
    document: Document,
    *,
    check_url: CheckUrl | None = None,
    is_set: warnings.IsSet | None = None,
) -> list[Problem]:
    """All errors, then all warnings.

    ``check_url`` judges where a base URL or a proxy's points and raises ValueError with a text for
    people; ``is_set`` tells whether a secret reference can be resolved.
    """
    scope = Scope(document)
    found = [problem for check in ERRORS for problem in check(scope)]
    if check_url is not None:
        found += _guarded(scope, "base_url", check_url)
        found += _guarded(scope, "proxy", check_url)
    found += [problem for check in WARNINGS for problem in check(scope)]
    if is_set is not None:
        found += warnings.unset_secrets(scope, is_set)
    return found


def check(
    document: Document,
    *,
    check_url: CheckUrl | None = None,
    is_set: warnings.IsSet | None = None,
) -> list[Problem]:
    """The warnings of a document without errors. Raises Invalid with all errors."""
    found = problems(document, check_url=check_url, is_set=is_set)
    errors = [problem for problem in found if problem.severity is Severity.ERROR]
    if errors:
        raise Invalid(errors)
    return found


def duplicates(document: Document) -> list[Problem]:
    """Ids that a file declares twice, to be asked before it is merged into another catalog."""
    return list(objects.duplicate_ids(Scope(document)))


def as_in_file(found: Iterable[Problem], checked: Document, file: Document) -> list[Problem]:
    """Problems of a merged catalog with their places in the file that was merged into it.

    One of an entry that the file does not hold is told for the whole, by kind and id.
    """
    places = {
        kind: {key_of(entry): index for index, entry in enumerate(getattr(file, kind))}
        for kind in KINDS
    }
    return [_as_in_file(problem, checked, places) for problem in found]


def _as_in_file(problem: Problem, checked: Document, places: dict[str, dict[str, int]]) -> Problem:
    kind, *rest = problem.pointer.split("/")[1:] or [""]
    if kind not in places or not rest:
        return problem
    at = _place_in_file(problem.pointer, checked, places)
    at = at or _place_in_file(problem.other, checked, places)
    if at:
        return replace(problem, pointer=at, other="")
    key = key_of(getattr(checked, kind)[int(rest[0])])
    return replace(problem, pointer="", detail=f"{kind} {key}: {problem.detail}", other="")


def _place_in_file(place: str, checked: Document, places: dict[str, dict[str, int]]) -> str:
    """The same place in the file; empty where the file lacks the entry."""
    kind, *rest = place.split("/")[1:] or [""]
    if not rest:
        return ""
    key = key_of(getattr(checked, kind)[int(rest[0])])
    found = places[kind].get(key)
    return "" if found is None else "/".join(["", kind, str(found), *rest[1:]])


def _guarded(scope: Scope, field: str, judge: CheckUrl) -> Iterator[Problem]:
    for index, endpoint in enumerate(scope.document.endpoints):
        url = getattr(endpoint, field)
        try:
            if url is not None:
                judge(url)
        except ValueError as why:
            yield error("endpoints", index, field, detail=str(why))
