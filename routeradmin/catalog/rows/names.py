"""Writing the one name space of route aliases and alias names."""

from __future__ import annotations

from datetime import datetime

from routeradmin.catalog import document as doc
from routeradmin.catalog.models import Alias, PublicName, Route, folded
from routeradmin.catalog.rows.delta import Delta
from routeradmin.catalog.rows.tables import Ids, chunks, delete

NOWHERE = 0  # stands in until every name exists; the database checks references at commit


def release_names(delta: Delta, ids: Ids) -> None:
    """Free the names of routes that go or change, so that two routes can swap theirs."""
    routes = ids.of(Route)
    freed = delta["routes"].removed + [route.id for route in delta["routes"].changed]
    delete(PublicName, "route_id", [routes[uid] for uid in freed if uid in routes])
    for names in chunks(delta["aliases"].removed):
        pks = list(Alias.objects.filter(name__in=names).values_list("pk", flat=True))
        delete(PublicName, "alias_id", pks)
        delete(Alias, "id", pks)


def write_names(delta: Delta, ids: Ids, now: datetime) -> None:
    """Name the written routes, write the aliases, then point every alias at its target's name."""
    if not (delta["routes"] or delta["aliases"]):
        return
    routes = ids.of(Route)
    PublicName.objects.bulk_create(
        PublicName(folded=folded(route.alias), route_id=routes[route.id])
        for route in delta["routes"].written
    )
    _write_aliases(delta["aliases"].added, delta["aliases"].changed, now)
    _point_aliases()


def _write_aliases(added: list[doc.Alias], changed: list[doc.Alias], now: datetime) -> None:
    rows = Alias.objects.bulk_create(
        Alias(
            name=alias.name,
            target=alias.target,
            target_name_id=NOWHERE,
            created_at=now,
            updated_at=now,
        )
        for alias in added
    )
    PublicName.objects.bulk_create(
        PublicName(folded=folded(row.name), alias_id=row.pk) for row in rows
    )
    targets = {alias.name: alias.target for alias in changed}
    kept = list(Alias.objects.filter(name__in=targets)) if targets else []
    for row in kept:
        row.target, row.version, row.updated_at = targets[row.name], row.version + 1, now
    Alias.objects.bulk_update(kept, ["target", "version", "updated_at"], batch_size=100)


def _point_aliases() -> None:
    names = dict(PublicName.objects.values_list("folded", "pk"))
    strays = []
    for row in Alias.objects.only("pk", "target", "target_name_id"):
        wanted = names[folded(row.target)]
        if row.target_name_id != wanted:
            row.target_name_id = wanted
            strays.append(row)
    Alias.objects.bulk_update(strays, ["target_name"], batch_size=100)
