"""Signs that need no model: an image, or text that looks like somebody's secret or address."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from routeradmin.engine.intents import Intent

IMAGE, EMAIL, CARD, KEY = "image", "email", "card", "key"
NAMES = (IMAGE, EMAIL, CARD, KEY)
SENSITIVE = frozenset({EMAIL, CARD, KEY})

# Bounded repetitions only: the time these take grows with the text's length and no faster. What
# stands before and after is looked at no more than it must be, since punctuation, underscores and
# scripts without spaces stand there too.
_EMAIL = re.compile(
    r"(?<=[\w+-])(?:[@\uff20]|%40)(?:[\w-]{1,63}\.){1,8}"
    r"(?:[A-Za-z]{2,24}(?![A-Za-z0-9])|xn--|[^\W\d_A-Za-z]{2})"
)
_KEY = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"(?:sk|rk|pk|gsk|xai|hf|gh[oprsu]|glpat|pplx|nvapi|r8|xox[abprs])[-_][A-Za-z0-9_-]{16}"
    r"|github_pat_[A-Za-z0-9_]{20}"
    r"|AIza[A-Za-z0-9_-]{30}"
    r"|A(?:KIA|SIA)[0-9A-Z]{16}(?![A-Za-z0-9])"
    r"|eyJ[A-Za-z0-9_-]{10,1024}+\.eyJ[A-Za-z0-9_-]{10,1024}+\."
    r")"
    r"|-{4,5} ?BEGIN (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY"
)
# Digits in groups, with up to three spaces, dashes, dots or line ends between two of them.
_BETWEEN = " \t\r\n.\u00a0\u2000-\u200a\u202f\u205f\u3000\\-\u2010-\u2015\u2212\ufe58\ufe63\uff0d"
_DIGITS = re.compile(rf"\d(?:[{_BETWEEN}]{{0,3}}+\d){{12,}}+")
_GAP = re.compile(r"(\D+)")
_GAPS_OF_ONE_NUMBER = frozenset(" -\u00a0\u202f\u2010\u2011\u2013")
# What networks put out, by first digits and length; shorter than 13 or longer than 19 is none.
_NETWORK = re.compile(
    r"4(?:\d{12}|\d{15}|\d{18})"
    r"|(?:5[1-5]\d\d|222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d|2720)\d{12}"
    r"|3[47]\d{13}|(?:30[0-59]\d|3[689]\d\d)\d{10,}|35(?:2[89]|[3-8]\d)\d{12,}"
    r"|220[0-4]\d{12,}|(?:50|5[6-9]|6\d)\d{11,}"
)
_LONGEST = 19
_TWICE = bytes.maketrans(b"0123456789", bytes((0, 2, 4, 6, 8, 1, 3, 5, 7, 9)))
_ONCE = bytes.maketrans(b"0123456789", bytes(range(10)))
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]")
_SPACED = "[^\\W_\u2e80-\U0010ffff]"  # of a script that writes with spaces
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|[nrtbf])")


def bared(text: str) -> str:
    """The text as a reader sees it: without what has no width, and with what JSON inside of it
    (a tool's arguments) spells in escapes."""
    if "\\" in text:
        text = _ESCAPE.sub(_unescaped, text)
    return text if text.isascii() else _INVISIBLE.sub("", text)


def _unescaped(found: re.Match[str]) -> str:
    code = found[1]
    return chr(int(code, 16)) if code else "\n"


def has_email(text: str) -> bool:
    return _EMAIL.search(text) is not None


def has_card(text: str) -> bool:
    """Whether a number of 13 to 19 digits stands in it whose Luhn checksum is right.

    A number may stand beside others, such as the date and the code that go with a card.
    """
    return any(_holds_card(found.group()) for found in _DIGITS.finditer(text))


def _holds_card(digits: str) -> bool:
    pieces = _GAP.split(digits)
    groups, gaps = pieces[::2], pieces[1::2]
    if _is_alone(groups, gaps) and luhn(digits):
        return True
    if not digits.isascii():
        groups = ["".join(str(int(digit)) for digit in group) for group in groups]
    return any(_begins_card(groups, gaps, start) for start in range(len(groups)))


def _is_alone(groups: list[str], gaps: list[str]) -> bool:
    """Whether all of it can be one number, however it is cut into groups."""
    count = sum(map(len, groups))
    begins = int(groups[0][0]) in range(2, 7)
    return begins and count <= _LONGEST and _GAPS_OF_ONE_NUMBER.issuperset(gaps)


def _begins_card(groups: list[str], gaps: list[str], start: int) -> bool:
    """Whether a card number of whole groups begins with this one. Groups of fewer than four
    digits only end one, it goes over one line end at most, and a dot may be inside of one but not
    beside it: columns, lists of telephone numbers and fractions were full of cards otherwise."""
    if start and gaps[start - 1] == ".":
        return False
    number, line_ends = "", 0
    for end in range(start, len(groups)):
        number += groups[end]
        if len(number) > _LONGEST:
            return False
        gap = gaps[end] if end < len(gaps) else ""
        if gap != "." and _NETWORK.fullmatch(number) and luhn(number):
            return True
        line_ends += "\n" in gap
        if len(groups[end]) < 4 or line_ends > 1:
            return False
    return False


def has_key(text: str) -> bool:
    """Whether something looks like an API key, a signed token or a private key."""
    return _KEY.search(text) is not None


def luhn(number: str) -> bool:
    """The checksum of card numbers; what stands between digits does not count."""
    if not (number.isascii() and number.isdigit()):
        number = "".join(str(int(character)) for character in number if character.isdecimal())
    digits = number.encode()
    total = sum(digits[-1::-2].translate(_ONCE)) + sum(digits[-2::-2].translate(_TWICE))
    return total % 10 == 0 and total > 0


_LOOKS: Mapping[str, Callable[[str], bool]] = {EMAIL: has_email, CARD: has_card, KEY: has_key}


def signs(text: str, *, has_image: bool, wanted: Iterable[str]) -> tuple[str, ...]:
    """The names of the wanted reflexes that saw something, in their fixed order."""
    wanted, text = frozenset(wanted), bared(text)
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
        texts = {True: bared(everything).casefold(), False: bared(latest).casefold()}
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
    """``\\b`` is of no use here: letters of Chinese, which need no space beside a Latin word, are
    letters to it too, and so is the underscore of names and of emphasis."""
    start = rf"(?<!{_SPACED})" if _spaced(word[0]) else ""
    end = rf"(?!{_SPACED})" if _spaced(word[-1]) else ""
    return start + re.escape(word) + end


def _spaced(character: str) -> bool:
    """Whether words of this character's script stand between spaces."""
    return character.isalnum() and ord(character) < 0x2E80
