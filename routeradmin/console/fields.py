"""Form fields for the catalog's own types: lists of words, of lines, headers, three-way answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from django import forms
from django.utils.safestring import SafeString

from routeradmin.console.catalog import Choices

MOST_BOXES = 50
SEPARATED = "Separated by commas; one that holds a comma stands in quotes."


_WORD = re.compile(r'\s*(?:"((?:[^"]|"")*)"|([^",\s][^,]*)|)\s*(?:,|$)')


def joined(words: Iterable[str]) -> str:
    """Words as they are typed: separated by commas, in quotes where commas would not do."""
    return ", ".join(map(_typed, words))


def _typed(word: str) -> str:
    is_plain = word == word.strip() and word and "," not in word and not word.startswith('"')
    return word if is_plain else '"' + word.replace('"', '""') + '"'


def split(text: str) -> list[str]:
    """The words of a typed list, ``joined`` the other way round. Raises ValueError, whose text is
    fit for a form field, for a quote without its other."""
    words, place = [], 0
    while place < len(text):
        found = _WORD.match(text, place)
        if found is None:
            raise ValueError(
                'Close the quotes and put a comma behind them; a quote inside is “""”.'
            )
        quoted, plain = found.groups()
        if quoted is not None:
            words.append(quoted.replace('""', '"'))
        elif plain and plain.strip():
            words.append(plain.strip())
        place = found.end()
    return words


class Words(forms.CharField):
    """A list of words, separated by commas; one that holds a comma stands in quotes."""

    def prepare_value(self, value: Any) -> Any:
        return value if isinstance(value, str) else joined(value or ())

    def clean(self, value: Any) -> Any:
        try:
            return split(super().clean(value))
        except ValueError as problem:
            raise forms.ValidationError(str(problem)) from None


class Lines(forms.CharField):
    """A list of texts, one a line."""

    widget = forms.Textarea(attrs={"rows": 3})

    def prepare_value(self, value: Any) -> Any:
        return value if isinstance(value, str) else "\n".join(value or ())

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        return [line for line in (part.strip() for part in text.split("\n")) if line]


class Headers(forms.CharField):
    """``Name: value``, one a line."""

    widget = forms.Textarea(attrs={"rows": 3})

    def prepare_value(self, value: Any) -> Any:
        if isinstance(value, str):
            return value
        return "\n".join(f"{name}: {text}" for name, text in (value or {}).items())

    def clean(self, value: Any) -> Any:
        lines = [line.strip() for line in super().clean(value).split("\n") if line.strip()]
        headers = {}
        for line in lines:
            name, colon, text = line.partition(":")
            if not colon or not name.strip():
                raise forms.ValidationError("Write each header as “Name: value” on its own line.")
            headers[name.strip()] = text.strip()
        return headers


class Maybe(forms.TypedChoiceField):
    """Yes, no, or not declared: what is not declared is not checked."""

    CHOICES = (("", "not declared"), ("true", "yes"), ("false", "no"))

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(
            choices=self.CHOICES,
            coerce=lambda text: text == "true",
            empty_value=None,
            required=False,
            **kwargs,
        )

    def prepare_value(self, value: Any) -> Any:
        return str(value).lower() if isinstance(value, bool) else value or ""


class One(forms.ChoiceField):
    """A choice among what the catalog holds now; optional ones have an empty first line."""

    def __init__(self, choices: Choices, *, empty: str | None = None, **kwargs: Any) -> None:
        self.source = choices

        def offered() -> list[tuple[str, str]]:
            first = [("", empty if empty is not None else "Choose …")]
            return [*first, *choices()]

        super().__init__(choices=offered, **kwargs)

    def clean(self, value: Any) -> Any:
        return super().clean(value) or None


class Ticks(forms.CheckboxSelectMultiple):
    """Boxes to tick; a list to choose from where there are too many to take in."""

    def render(
        self, name: str, value: Any, attrs: dict[str, Any] | None = None, renderer: Any = None
    ) -> SafeString:
        choices = list(self.choices)
        if len(choices) <= MOST_BOXES:
            return super().render(name, value, attrs, renderer)
        listed = forms.SelectMultiple(attrs={"size": 8}, choices=choices)
        return listed.render(name, value, attrs, renderer)


class Several(forms.MultipleChoiceField):
    """Several of what the catalog holds now, in the catalog's order."""

    widget = Ticks

    def __init__(self, choices: Callable[[], Iterable[tuple[str, str]]], **kwargs: Any) -> None:
        super().__init__(choices=lambda: list(choices()), required=False, **kwargs)


class Text(forms.CharField):
    """Text that may be left out: empty is absent."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(required=False, empty_value=None, **kwargs)


def whole(label: str, help_text: str = "", *, low: int = 0, high: int | None = None) -> Any:
    """An optional whole number; empty is absent."""
    return forms.IntegerField(
        label=label, help_text=help_text, min_value=low, max_value=high, required=False
    )


def number(label: str, help_text: str = "", *, low: float = 0) -> Any:
    """An optional number; empty is absent."""
    return forms.FloatField(
        label=label,
        help_text=help_text,
        min_value=low,
        required=False,
        widget=forms.NumberInput(attrs={"step": "any"}),
    )
