"""What had a say in a choice beside the route itself, in words: intent, rule, wishes, session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from django.urls import reverse

from routeradmin.console import catalog

Told = Mapping[str, Any]
SIGNS = {
    "image": "an image",
    "email": "an e-mail address",
    "card": "a card number",
    "key": "an API key",
}
WHY = {
    "gone": "it is no target of the route any more",
    "earlier-tier": "an earlier tier has a candidate again",
}


class Part(NamedTuple):
    """One that had a say. ``url`` leads to its page where it has one."""

    title: str
    subject: str
    lines: tuple[str, ...]
    url: str = ""


def told(found: Told | None) -> list[Part]:
    """The parts of a turn's ``routing`` or of an explanation; none where the route alone chose."""
    given = found or {}
    return [say(given[name]) for name, say in _SAYINGS.items() if given.get(name)]


def decision(found: Told) -> Part:
    """How ``auto`` came by its intent, as ``engine.intents.Decision`` tells it."""
    uid = found.get("intent")
    lines = [_decided(found)]
    if uid and found.get("route_id"):
        lines[0] += f" It goes to route {catalog.index().alias_of(found['route_id'])}."
    lines += [text for text in (_saw(found), _near(found), _cache(found)) if text]
    if found.get("classifier") and found.get("tier") != "classifier":
        lines.append(f"Classifier: {found['classifier']}.")
    if found.get("problem"):
        lines.append(f"Embedder {found.get('embedder')}: {found['problem']}.")
    if found.get("local_only"):
        lines.append("Held to deployments tagged local.")
    url = reverse("intents-one", args=[uid]) if uid else ""
    return Part("Intent", uid or "none", tuple(lines), url)


def _decided(found: Told) -> str:
    tier, confidence = found.get("tier"), found.get("confidence")
    texts = {
        "reflex": "A reflex decided.",
        "keyword": f"The keyword “{found.get('keyword')}” decided.",
        "cache": "Decided as before: the cache knew it.",
        "semantic": f"Similarity decided: {confidence} of at least {found.get('threshold')}.",
        "classifier": f"The classifier decided, {_share(confidence)} sure.",
        "default": "Nothing told what it is about: the intent of last resort.",
    }
    return texts.get(str(tier), "No intent was found: the order for auto came next.")


def _saw(found: Told) -> str:
    seen = [SIGNS.get(sign, sign) for sign in found.get("signs") or ()]
    return f"The reflexes saw {' and '.join(seen)}." if seen else ""


def _near(found: Told) -> str:
    near = [
        f"{one['intent']} {one['similarity']} (example {one['example'] + 1})"
        for one in found.get("similar") or ()
    ]
    if not near:
        return ""
    short = "" if found.get("tier") == "semantic" else f", short of {found.get('threshold')}"
    return f"Nearest by {found.get('embedder')}: {', '.join(near)}{short}."


def _cache(found: Told) -> str:
    texts = {
        "exact": "Cache: the same text was judged before.",
        "similar": f"Cache: a text of similarity {found.get('cache_similarity')} was judged.",
        "miss": "Cache: not judged before.",
    }
    return texts.get(str(found.get("cache")), "")


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}"


def _rule(found: Told) -> Part:
    only = ", ".join(found.get("only") or ()) or "nothing"
    uid = str(found.get("id"))
    return Part("Rule", uid, (f"It left only {only}.",), reverse("rules-one", args=[uid]))


def _preferences(found: Told) -> Part:
    asked = found.get("asked") or {}
    words = [
        (f"{title}: {', '.join(asked[name])}.")
        for name, title in (("order", "First"), ("only", "Only"), ("ignore", "Never"))
        if asked.get(name)
    ]
    if asked.get("allow_fallbacks") is False:
        words.append("Nothing beyond those.")
    if asked.get("sort"):
        words.append(f"The best by {asked['sort']}.")
    for one in found.get("dropped") or ():
        name = f" {one['name']}" if one.get("name") else ""
        words.append(f"Dropped: {one['word']}{name} {one['why']}.")
    return Part("Preferences", "of the client", tuple(words))


def _affinity(found: Told) -> Part:
    subject, bound = f"known by {found.get('source')}", found.get("bound_to")
    if not bound:
        return Part(
            "Session", subject, ("Nothing is bound to it and this key: the strategy chose.",)
        )
    if found.get("kept"):
        return Part("Session", subject, (f"It stayed with {bound}, where it was served last.",))
    why = "; ".join(WHY.get(one, one) for one in found.get("why") or ()) or "another was chosen"
    lines = [f"It was bound to {bound}, which was not used: {why}."]
    if found.get("returned"):
        lines.append(f"It returned to {found.get('before')}, where it was before.")
    return Part("Session", subject, tuple(lines))


def _selector(found: Told) -> Part:
    note = str(found.get("note", "")).rstrip(".")
    text = f"It made no choice: {note}. The default strategy chose instead."
    return Part("Selector", str(found.get("strategy")), (text,))


_SAYINGS = {
    "intent": decision,
    "rule": _rule,
    "preferences": _preferences,
    "affinity": _affinity,
    "selector": _selector,
}
