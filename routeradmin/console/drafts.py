"""The form behind every catalog object: what was seen, what was typed, what therefore changes.

A form field is named after its path in the catalog file, ``__`` between the steps
(``probe__mode``). A form remembers what it showed, so a save sends the touched fields alone and a
conflict can be told field by field.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, NamedTuple, Self, cast

from django import forms

from routeradmin.console import curl
from routeradmin.console.fields import One, Several

STEP = "__"
Groups = tuple[tuple[str, tuple[str, ...]], ...]
UNSHOWN = "as typed, never shown"
OWN_FIELDS = ("version", "seen", "reason")


def flattened(fields: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """The values at the given paths; None where a step is missing."""
    found = {}
    for name in names:
        value: Any = fields
        for step in name.split(STEP):
            value = value.get(step) if isinstance(value, Mapping) else None
        found[name] = value
    return found


def nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    """The inverse of ``flattened``."""
    fields: dict[str, Any] = {}
    for name, value in flat.items():
        *steps, last = name.split(STEP)
        place = fields
        for step in steps:
            place = place.setdefault(step, {})
        place[last] = value
    return fields


class Difference(NamedTuple):
    """One field of a conflict."""

    label: str
    seen: str
    theirs: str
    mine: str


class Draft(forms.Form):
    """Base of the catalog's forms. ``groups`` lays out fields: title, then field names."""

    groups: ClassVar[Groups] = ()
    fixed: ClassVar[tuple[str, ...]] = ("id",)  # not editable once the object exists

    version = forms.CharField(required=False, widget=forms.HiddenInput)
    seen = forms.CharField(required=False, widget=forms.HiddenInput)
    reason = forms.CharField(
        required=False,
        max_length=500,
        label="Reason for this change",
        help_text="Kept with the revision and in the audit log.",
    )

    def __init__(self, *args: Any, exists: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.exists = exists
        if exists:
            for name in self.fixed:
                self.fields.pop(name, None)
        self._offer_what_is_stored()

    def _offer_what_is_stored(self) -> None:
        """A stored choice that is not among the offered ones has a box or a line all the same:
        what has none would be lost by saving, unseen."""
        stored = {**self.initial, **self._seen()}
        for name, field in self.fields.items():
            present = stored.get(name)
            if not present or not isinstance(field, forms.ChoiceField):
                continue
            texts = present if isinstance(present, list | tuple) else [present]
            offered = list(cast(Iterable[tuple[Any, Any]], field.choices))
            known = {value for value, _ in offered}
            beyond = [one for one in texts if isinstance(one, str) and one not in known]
            if beyond:
                further = [(one, self.unlisted(name, one)) for one in dict.fromkeys(beyond)]
                field.choices = [*offered, *further]

    def unlisted(self, name: str, value: str) -> str:
        """What a stored choice is called that the field would not offer."""
        is_reference = isinstance(self.fields[name], One | Several)
        return f"{value} – not in the catalog" if is_reference else value

    @classmethod
    def names(cls) -> list[str]:
        return [name for name in cls.base_fields if name not in OWN_FIELDS]

    @classmethod
    def showing(cls, fields: Mapping[str, Any], version: int) -> Self:
        """An unbound form for an object that exists."""
        flat = flattened(fields, cls.names())
        own = {"version": str(version), "seen": json.dumps(flat, default=str)}
        return cls(initial={**flat, **own}, exists=True)

    def lacking(self) -> list[str]:
        """Kinds of the catalog of which this form needs one, and there is none."""
        return [
            field.source.kind
            for field in self.fields.values()
            if isinstance(field, One) and field.required and not field.source()
        ]

    def own_names(self) -> list[str]:
        return [name for name in self.fields if name not in OWN_FIELDS]

    def typed(self) -> dict[str, Any]:
        """Every field, as typed and cleaned."""
        values = {name: self.cleaned_data.get(name) for name in self.own_names()}
        seen = self._seen()
        for name, field in self.fields.items():
            # Boxes say which, not in what order: what was there keeps its place.
            chosen = values.get(name)
            if isinstance(field, forms.MultipleChoiceField) and isinstance(chosen, list):
                values[name] = in_order_of(chosen, seen.get(name) or ())
        return values

    def _seen(self) -> dict[str, Any]:
        try:
            seen = json.loads(self.data.get("seen") or "{}")
        except ValueError:
            return {}
        return seen if isinstance(seen, dict) else {}

    def touched(self) -> dict[str, Any]:
        """Fields whose value differs from what the form showed; all of them without that."""
        seen = self._seen()
        return {
            name: value
            for name, value in self.typed().items()
            if name not in seen
            or not (same(seen[name], value) or self._is_as_shown(name, seen[name]))
        }

    def _is_as_shown(self, name: str, seen: Any) -> bool:
        """Whether the text that came is the text that was shown: whatever reading it would make of
        it, nobody has touched it."""
        field = self.fields[name]
        given = field.widget.value_from_datadict(self.data, self.files, self.add_prefix(name))
        if isinstance(given, str):
            given = given.replace("\r\n", "\n")
        return bool(given == field.prepare_value(seen))

    def patch(self) -> dict[str, Any]:
        """The touched fields as the API takes them."""
        return nested(self.touched())

    def rearranged(self) -> Self | None:
        """The form as it is shown again after a button that moves parts of it; None without one."""
        return None

    def changes(self) -> list[Difference]:
        """What a save would change of what was shown, and what of a new object is not empty."""
        seen = self._seen()
        return [
            Difference(
                str(self.fields[name].label or name),
                self._told(name, seen.get(name)),
                "",
                UNSHOWN if name in curl.SECRETS else self._told(name, value),
            )
            for name, value in self.touched().items()
            if seen or _present(value)
        ]

    def _told(self, name: str, value: Any) -> str:
        """The value as the field calls it."""
        field = self.fields[name]
        if isinstance(field, forms.ChoiceField) and isinstance(value, str):
            value = dict(field.choices).get(value, value)  # type: ignore[arg-type]
        return shown(value)

    def consequences(self) -> list[str]:
        """What follows from a save beyond the fields themselves, in sentences."""
        return []

    def rebased(self, current: Mapping[str, Any], version: int) -> tuple[Self, list[Difference]]:
        """The form to show after a conflict: what was typed stays, the rest is what it is now."""
        now = flattened(current, self.names())
        seen, touched = self._seen(), self.touched()
        own = {
            "version": str(version),
            "seen": json.dumps(now, default=str),
            "reason": self.cleaned_data.get("reason", ""),
        }
        again = type(self)(initial={**now, **touched, **own}, exists=True)
        differences = [
            Difference(
                str(self.fields[name].label or name),
                shown(seen.get(name)),
                shown(now[name]),
                shown(touched.get(name, now[name])),
            )
            for name in self.own_names()
            if name in seen and not same(seen[name], now[name])
        ]
        return again, differences

    def fieldsets(self) -> list[tuple[str, list[forms.BoundField]]]:
        """Bound fields by group; what no group names comes last."""
        placed: set[str] = set()
        sets = []
        for title, names in self.groups:
            present = [name for name in names if name in self.fields]
            placed.update(present)
            if present:
                sets.append((title, [self[name] for name in present]))
        rest = [self[name] for name in self.own_names() if name not in placed]
        return [*sets, ("More", rest)] if rest else sets

    def refuse(self, pointer: str, detail: str) -> None:
        """Put a problem beside the field it names; the last steps of the pointer decide."""
        steps = [step for step in pointer.split("/") if step and not step.isdigit()]
        for start in range(len(steps)):
            name = STEP.join(steps[start:])
            if name in self.fields:
                self.add_error(name, detail)
                return
        self.add_error(None, f"{pointer}: {detail}" if steps else detail)


def in_order_of(values: list[str], before: Iterable[str]) -> list[str]:
    """Those that were there before in their order, then the rest."""
    kept = [value for value in before if value in values]
    return kept + [value for value in values if value not in kept]


def same(seen: Any, value: Any) -> bool:
    """Equal as the catalog means it: absent, empty and a missing list are one, 5 is 5.0."""
    if not _present(seen) and not _present(value):
        return True
    plain = json.loads(json.dumps(value, default=str))
    return bool(seen == plain)


def _present(value: Any) -> bool:
    return value is not None and value not in ("", [], {}, ())


def shown(value: Any) -> str:
    if not _present(value):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(str(part) for part in value)
    return str(value)
