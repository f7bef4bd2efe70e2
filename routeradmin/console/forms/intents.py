"""Forms around intents: how ``auto`` decides, the shipped ones, a text to try, a judgement."""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms

from routeradmin.console import catalog
from routeradmin.console.drafts import Draft, Groups
from routeradmin.console.fields import One, Several, Text, number, whole
from routeradmin.services.intent import shipped

MOST_CHARS = 100_000
REFLEXES = (
    ("image", "an image means vision"),
    ("email", "an e-mail address means secure"),
    ("card", "a card number means secure"),
    ("key", "an API key means secure"),
)
ROUTES, INTENTS, EMBEDDERS = "route-names", "intent-ids", "embedder-names"
PREFIX = "routes__"


def _suggesting(words: str) -> forms.TextInput:
    return forms.TextInput(attrs={"list": words})


class IntentSettingsDraft(Draft):
    """The ``intents`` table of the catalog's defaults; what is left empty takes its default."""

    fixed = ()
    intents__enabled = forms.BooleanField(
        label="auto goes by intents",
        required=False,
        help_text="Off: only the order for auto of the defaults counts.",
    )
    intents__default_id = Text(
        label="Intent of last resort",
        max_length=256,
        widget=_suggesting(INTENTS),
        help_text="Taken where nothing tells what a request is about.",
    )
    intents__doubtful_id = Text(
        label="Intent in doubt",
        max_length=256,
        widget=_suggesting(INTENTS),
        help_text="Taken where the classifier is less sure than it must be.",
    )
    intents__reflexes = Several(lambda: REFLEXES, label="Reflexes")
    intents__embedder = Text(
        label="Embedder",
        max_length=1024,
        widget=_suggesting(EMBEDDERS),
        help_text="none, wordllama, or the name of a route that serves embeddings.",
    )
    intents__threshold = number(
        "Similarity that decides", "0 to 1. Empty: the embedder's own, 0.3 for wordllama."
    )
    intents__embedder_timeout_s = number("Embedder's time, seconds", "Counts for a route.")
    intents__classifier = Text(
        label="Classifier",
        max_length=1024,
        widget=_suggesting(ROUTES),
        help_text="A route that is asked where similarity says nothing; its calls may be billed.",
    )
    intents__classifier_timeout_s = number("Classifier's time, seconds")
    intents__min_confidence = number("How sure it must be", "0 to 1.")
    intents__cache_entries = whole("Entries", "0: no cache.")
    intents__cache_similarity = number("Similarity that counts as the same", "0 to 1.")
    intents__cache_ttl_s = number("Time to live, seconds", "0: entries do not age.")
    groups: ClassVar[Groups] = (
        ("Decision", ("intents__enabled", "intents__default_id", "intents__reflexes")),
        (
            "Similarity to the examples",
            ("intents__embedder", "intents__threshold", "intents__embedder_timeout_s"),
        ),
        (
            "Classifier",
            (
                "intents__classifier",
                "intents__classifier_timeout_s",
                "intents__min_confidence",
                "intents__doubtful_id",
            ),
        ),
        (
            "Cache of decisions",
            ("intents__cache_entries", "intents__cache_similarity", "intents__cache_ttl_s"),
        ),
    )

    @property
    def datalists(self) -> dict[str, list[str]]:
        document = catalog.document()
        routes = sorted(route.alias for route in document.routes)
        return {
            ROUTES: routes,
            INTENTS: sorted(intent.id for intent in document.intents),
            EMBEDDERS: ["none", "wordllama", *routes],
        }


class LoadDraft(Draft):
    """A route for each shipped intent that is wanted."""

    fixed = ()
    overwrite = forms.BooleanField(
        label="Replace those that the catalog has already",
        required=False,
        help_text="Their own examples and keywords are lost.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        present = {intent.id: intent.route_id for intent in catalog.document().intents}
        self.offered = shipped.shipped()
        for one in self.offered:
            there = " The catalog has it already." if one.id in present else ""
            self.fields[PREFIX + one.id] = One(
                catalog.Choices("routes", "alias"),
                label=one.name,
                empty="leave it",
                required=False,
                initial=present.get(one.id),
                help_text=f"{one.description}. {len(one.examples)} examples.{there}",
            )

    def fieldsets(self) -> list[tuple[str, list[forms.BoundField]]]:
        chosen = [self[PREFIX + one.id] for one in self.offered]
        return [("The route that serves each", chosen), ("Existing ones", [self["overwrite"]])]

    def clean(self) -> dict[str, Any] | None:
        if not self.errors and not self.routes():
            self.add_error(None, "Choose the route of at least one intent.")
        return self.cleaned_data

    def routes(self) -> dict[str, str]:
        """Intent id to route id, for those that are wanted."""
        chosen = {one.id: self.cleaned_data.get(PREFIX + one.id) for one in self.offered}
        return {name: route for name, route in chosen.items() if route}


class TryForm(forms.Form):
    """Sent by POST, so that the text is in no address and in no log."""

    text = forms.CharField(
        label="Text",
        max_length=MOST_CHARS,
        widget=forms.Textarea(attrs={"rows": 6}),
        help_text="As the last message of a user. It is not kept.",
    )
    has_image = forms.BooleanField(label="With an image", required=False)


class JudgeForm(forms.Form):
    """What a decision should have been. Only who may change the catalog can add an example."""

    turn = forms.CharField(required=False, max_length=64, widget=forms.HiddenInput)
    decided = forms.ChoiceField(label="It was taken for")
    right = One(catalog.Choices("intents"), label="It should have been")
    text = forms.CharField(
        label="Its text",
        required=False,
        max_length=MOST_CHARS,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text="Only to add an example: prompts are not recorded.",
    )
    add_example = forms.BooleanField(
        label="Add the text to the examples of the right intent", required=False
    )

    def __init__(self, *args: Any, may_teach: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        decided = self.fields["decided"]
        assert isinstance(decided, forms.ChoiceField)  # noqa: S101 - for the type checker
        nothing = [("", "Choose …"), ("none", "none of them")]
        decided.choices = [*nothing, *catalog.Choices("intents")()]
        if self["turn"].value():
            del self.fields["decided"]  # the record tells
        if not may_teach:
            del self.fields["text"], self.fields["add_example"]
