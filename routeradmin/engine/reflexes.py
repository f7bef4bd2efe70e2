"""Signs that need no model: an image, or text that looks like somebody's secret or address."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from routeradmin.engine.intents import Intent

IMAGE, EMAIL, CARD, KEY = "image", "email", "card", "key"
NAMES = (IMAGE, EMAIL, CARD, KEY)
SENSITIVE = frozenset({EMAIL, CARD, KEY})

# Bounded repetitions only: the time these take grows with the text's length and no faster.
_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24}(?![\w-])")
_CARD = re.compile(r"(?<![\d-])[2-6](?:[ -]?\d){12,18}(?![ -]?\d)")
_KEY = re.compile(
    r"\b(?:sk|rk|pk|gsk|xai|hf|gh[oprsu]|glpat|pplx|nvapi|r8|xox[abprs])[-_][A-Za-z0-9_-]{16,}"
    r"|\bgithub_pat_\w{20,}"
    r"|\bAIza[\w-]{30,}"
    r"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"
    r"|\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\."
    r"|-----BEGIN (?:[A-Z]+ ){0,3}PRIVATE KEY-----"
)


def has_email(text: str) -> bool:
    return "@" in text and _EMAIL.search(text) is not None


def has_card(text: str) -> bool:
    """Whether a number of 13 to 19 digits stands in it whose Luhn checksum is right."""
    return any(luhn(found.group()) for found in _CARD.finditer(text))


def has_key(text: str) -> bool:
    """Whether something looks like an API key, a signed token or a private key."""
    return _KEY.search(text) is not None


def luhn(number: str) -> bool:
    """The checksum of card numbers; spaces and dashes do not count."""
    digits = [int(character) for character in number if character.isdigit()]
    total = sum(digits[-1::-2]) + sum(sum(divmod(2 * digit, 10)) for digit in digits[-2::-2])
    return total % 10 == 0 and any(digits)


_LOOKS: Mapping[str, Callable[[str], bool]] = {EMAIL: has_email, CARD: has_card, KEY: has_key}


def signs(text: str, *, has_image: bool, wanted: Iterable[str]) -> tuple[str, ...]:
    """The names of the wanted reflexes that saw something, in their fixed order."""
    wanted = frozenset(wanted)
    found = [IMAGE] if has_image and IMAGE in wanted else []
    found += [name for name, look in _LOOKS.items() if name in wanted and look(text)]
    return tuple(found)


class Keywords:
    """Words and phrases that name an intent outright, ready to be looked for.

    Case does not count; a word of letters or digits must stand by itself, unless it is of a script
    that writes without spaces.
    """

    def __init__(self, intents: Iterable[Intent]) -> None:
        self._patterns = [
            (intent.id, intent.local_only, _pattern(intent.keywords))
            for intent in intents
            if intent.keywords
        ]

    def find(self, latest: str, everything: str) -> tuple[str, str] | None:
        """(intent id, keyword) if just one intent is named.

        A keyword of an intent that is local only counts wherever it stands, and wins; the others
        count in what was said last.
        """
        if not self._patterns:
            return None
        texts = {True: everything.casefold(), False: latest.casefold()}
        found = [
            (local, intent_id, seen.group())
            for intent_id, local, pattern in self._patterns
            if (seen := pattern.search(texts[local])) is not None
        ]
        local_first = [one for one in found if one[0]][:1] or found
        return local_first[0][1:] if len(local_first) == 1 else None


def _pattern(keywords: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(_bounded(word.casefold()) for word in keywords))


def _bounded(word: str) -> str:
    """``\\b`` is of no use beside characters such as those of Chinese, which are letters too."""
    start = r"(?<!\w)" if _spaced(word[0]) else ""
    end = r"(?!\w)" if _spaced(word[-1]) else ""
    return start + re.escape(word) + end


def _spaced(character: str) -> bool:
    """Whether words of this character's script stand between spaces."""
    return character.isalnum() and ord(character) < 0x2E80
