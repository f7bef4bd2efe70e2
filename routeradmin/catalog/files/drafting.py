"""Builds a draft entry by entry: ids that sort in file order, one entry per distinct fact."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any, TypeVar

from routeradmin.catalog.fields import MAX_NAME_BYTES, clean
from routeradmin.catalog.files.draft import Draft, Remark, Unfit, placed
from routeradmin.catalog.files.keys import Key
from routeradmin.catalog.files.structure import build
from routeradmin.catalog.files.values import TEXT, Kind
from routeradmin.catalog.files.vendors import Vendor, unresolved_url
from routeradmin.catalog.problems import pointer
from routeradmin.web_url import UrlRefused, parse_base_url

Place = tuple[str | int, ...]
T = TypeVar("T")

_NOT_IN_IDS = re.compile(r"[^\x21-\x7e]+")
_LONGEST_STEM = MAX_NAME_BYTES - 56  # room for the suffixes added below


def stem(text: str) -> str:
    """The text as an id may hold it."""
    return _NOT_IN_IDS.sub("-", clean(text)).strip("-")[:_LONGEST_STEM] or "unnamed"


@dataclass(slots=True)
class Drafting:
    """The draft being built. Every method answers the id of the entry, made when it is new.

    ``here`` is the place in the file that is being read: what is made meanwhile came from there.
    """

    source: str
    kinds: defaultdict[str, dict[str, dict[str, Any]]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    defaults: dict[str, Any] = field(default_factory=dict)
    unmapped: list[Remark] = field(default_factory=list)
    notes: list[Remark] = field(default_factory=list)
    secrets: dict[str, str] = field(default_factory=dict, repr=False)
    here: Place = ()
    places: dict[tuple[str, str], str] = field(default_factory=dict)
    _known: dict[tuple[Any, ...], str] = field(default_factory=dict, repr=False)
    _left: set[Remark] = field(default_factory=set)
    _numbers: Counter[tuple[str, str]] = field(default_factory=Counter)

    def leave(self, *place: str | int, why: str) -> None:
        """Once, however often the value is looked at."""
        remark = Remark(pointer(*place), why)
        if remark not in self._left:
            self._left.add(remark)
            self.unmapped.append(remark)

    def note(self, *place: str | int, what: str) -> None:
        self.notes.append(Remark(pointer(*place), what))

    def read(self, kind: Kind[T], table: dict[str, Any], name: str, at: Place) -> T | None:
        """The table's value of this name, ``at`` the table's place. None: it is absent or null, or
        of another kind, which is listed."""
        value = table.get(name)
        return None if value is None else self.fit(kind, value, (*at, name))

    def fit(self, kind: Kind[T], value: Any, at: Place) -> T | None:
        """The same for a value that stands at this place of its own, where null is listed, too."""
        found = kind.fit(value)
        if found is None:
            self.leave(*at, why="is null" if value is None else f"must be {kind.words}")
        return found

    def texts(self, values: list[Any], at: Place) -> list[str]:
        """Those of a list that are texts; the others are listed."""
        found = (self.fit(TEXT, value, (*at, index)) for index, value in enumerate(values))
        return [value for value in found if value is not None]

    def provider(self, name: str, vendor: Vendor) -> str:
        entry = {"category": vendor.category, "kind": vendor.kind}
        return self._once("providers", ("provider", name), stem(name), entry)

    def account(self, provider_id: str, vendor: Vendor, key: Key, place: Place, **more: Any) -> str:
        """The credential of this key at this provider; a literal key goes to ``secrets``."""
        identity = ("account", provider_id, *key.identity, repr(sorted(more.items())))
        if identity in self._known:
            return self._known[identity]
        id = self._free("accounts", f"{provider_id}-key-{self._next('accounts', provider_id):03d}")
        entry: dict[str, Any] = {"provider_id": provider_id, "auth_kind": "anonymous"}
        entry["billing_kind"] = vendor.billing_kind
        if key.needs_secret:
            entry |= {"auth_kind": vendor.auth_kind, "secret_reference_id": key.reference(id)}
            if vendor.api_key_header:
                entry["api_key_header"] = vendor.api_key_header
        if key.kind == "literal":
            self.secrets[id] = key.text
        if key.remark:
            self.note(*place, what=key.remark)
        self._known[identity] = id
        return self._add("accounts", id, {**entry, **more})

    def endpoint(self, account_id: str, base_url: str, place: Place, **more: Any) -> str:
        """A URL that cannot be used stands for itself nowhere: a host that never resolves does."""
        try:
            base_url = str(parse_base_url(base_url))
        except UrlRefused as why:
            self.note(*place, what=f"{why}; give the endpoint its URL before it is used")
            base_url = unresolved_url(account_id)
        identity = ("endpoint", account_id, base_url, repr(sorted(more.items())))
        entry = {"account_id": account_id, "base_url": base_url, **more}
        return self._once("endpoints", identity, account_id, entry)

    def model(self, upstream_name: str) -> str:
        entry = {"upstream_name": upstream_name}
        return self._once("models", ("model", upstream_name), stem(upstream_name), entry)

    def deployment(self, wanted: str, endpoint_id: str, model_id: str, **more: Any) -> str:
        id = self._free("serving_models", stem(wanted))
        return self._add(
            "serving_models", id, {"endpoint_id": endpoint_id, "model_id": model_id, **more}
        )

    def route(self, alias: str) -> str:
        alias = clean(alias)
        return self._once("routes", ("route", alias), stem(alias), {"alias": alias})

    def target(self, route_id: str, deployment_id: str, position: int = 0) -> str:
        """Target ids count up within their route, so that they sort as they were added."""
        id = self._free("targets", f"{route_id}-{self._next('targets', route_id):04d}")
        entry = {"route_id": route_id, "serving_model_id": deployment_id, "position": position}
        self._add("targets", id, entry)
        self.places["targets", id] = self.places.get(("serving_models", deployment_id), "")
        return id

    def policy(self, wanted: str, **tables: Any) -> str:
        return self._once("policies", ("policy", repr(tables)), stem(wanted), tables)

    def alias(self, name: str, target: str) -> None:
        self.kinds["aliases"][name] = {"name": clean(name), "target": clean(target)}

    def finish(self) -> Draft:
        """Raises Unfit where the source holds texts or numbers that no catalog can."""
        values: dict[str, Any] = {
            kind: list(entries.values()) for kind, entries in self.kinds.items()
        }
        document, problems = build({**values, "defaults": self.defaults})
        unmapped, notes = tuple(self.unmapped), tuple(self.notes)
        if document is None:
            ids = {kind: list(entries) for kind, entries in self.kinds.items()}
            raise Unfit(placed(problems, ids, self.places), self.source, unmapped, notes)
        return Draft(self.source, document, unmapped, notes, self.secrets, self.places)

    def _next(self, kind: str, owner: str) -> int:
        """Numbers entries within their owner, from 1 on."""
        self._numbers[kind, owner] += 1
        return self._numbers[kind, owner]

    def _once(self, kind: str, identity: tuple[Any, ...], id: str, entry: dict[str, Any]) -> str:
        if identity not in self._known:
            self._known[identity] = self._add(kind, self._free(kind, id), entry)
        return self._known[identity]

    def _add(self, kind: str, id: str, entry: dict[str, Any]) -> str:
        self.kinds[kind][id] = {"id": id, **entry}
        self.places[kind, id] = pointer(*self.here)
        return id

    def _free(self, kind: str, id: str) -> str:
        taken = self.kinds[kind]
        if id not in taken:
            return id
        return next(name for n in range(2, len(taken) + 3) if (name := f"{id}-{n}") not in taken)
