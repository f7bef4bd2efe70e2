"""Import of a catalog file."""

from __future__ import annotations

import hashlib
from typing import Any

from django import forms

from routeradmin.services import changes

MOST_BYTES = 16 * 1024 * 1024
HELP = "A catalog as TOML or JSON, or the YAML of LiteLLM, litellm-rs, switchAILocal, CLIProxyAPI."
MODES = (
    ("merge", "merge: add and change, remove nothing"),
    ("replace", "replace: remove what the file does not hold"),
)
FILE_HELP = "A catalog (TOML, JSON), or the YAML of LiteLLM, litellm-rs or switchAILocal."
SOURCES = {
    "catalog": "a routeradmin catalog",
    "litellm": "a LiteLLM proxy configuration",
    "litellm-rs": "a litellm-rs gateway configuration",
    "switchailocal": "a switchAILocal configuration",
}
FORMAT_CHOICES = (
    ("", "find out from the file"),
    ("toml", "routeradmin catalog, TOML"),
    ("json", "routeradmin catalog, JSON"),
    ("litellm", "LiteLLM, YAML"),
    ("litellm-rs", "litellm-rs, YAML"),
    ("switchailocal", "switchAILocal, YAML"),
)


ELEMENT = "import"  # the form element's id


class ImportForm(forms.Form):
    """A file or its text, which the second step sends again; ``sealed`` where it may hold keys.

    ``revision`` and ``looked``: the catalog and the digest of the file that were looked at.
    """

    file = forms.FileField(label="Catalog file", required=False, help_text=FILE_HELP)
    text = forms.CharField(
        label="Or its text",
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 10, "spellcheck": "false"}),
    )
    format = forms.ChoiceField(label="Format", choices=FORMAT_CHOICES, required=False)
    mode = forms.ChoiceField(label="Mode", choices=MODES, initial="merge")
    reason = forms.CharField(
        label="Reason for this change",
        required=False,
        max_length=500,
        help_text="Kept with the revision and in the audit log.",
    )
    # Shown with what would change, outside the form's own element.
    revision = forms.CharField(required=False, widget=forms.HiddenInput({"form": ELEMENT}))
    looked = forms.CharField(required=False, widget=forms.HiddenInput({"form": ELEMENT}))
    sealed = forms.CharField(required=False, widget=forms.HiddenInput)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        file = cleaned.get("file")
        if file is not None and file.size > MOST_BYTES:
            raise forms.ValidationError("The file is larger than 16 MiB.")
        data = file.read() if file is not None else cleaned.get("text", "").encode()
        if not data.strip() and cleaned.get("sealed"):
            try:
                data = changes.opened_file(cleaned["sealed"])
            except changes.Invalid as gone:
                raise forms.ValidationError(gone.problems[0].detail) from gone
        if not data.strip():
            raise forms.ValidationError("Choose a file or paste its text.")
        cleaned["bytes"], cleaned["digest"] = data, hashlib.sha256(data).hexdigest()
        return cleaned
