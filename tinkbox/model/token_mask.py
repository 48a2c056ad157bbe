"""What stands for a token in a text that is kept, logged or sent on, and the one place that decides what a token is.

People type a token where a name is asked for, and a line of the audit would have it for years.
"""

import re
from collections.abc import Callable
from itertools import accumulate, pairwise
from typing import Final
from urllib.parse import unquote

# What is left of each says what it was.  Those of people also where they were cut off when pasted: the rest is soon guessed.
_PEOPLES: Final = r"(?P<people>[Tt][Bb][Xx]_)[0-9a-fA-F]{8,}"
_TICKET: Final = r"(?P<ticket>boot-ticket\.)[\w-]{8,}(?:\.[\w-]*)?"
# Of an issuer: a JSON Web Token (RFC 7519), whose first part is `{"` and more in base64url.
_ISSUERS: Final = r"(?P<issuer>eyJ)[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?"
# For `docker push`: its end, the id of a token, a signature; of that also the most part where a message was cut there, maybe within
# a letter that was percent-encoded.
_PUSH: Final = r"(?<!\d)\d+\.(?:[0-9a-f]{2})*\.(?:[0-9a-f]{64}|[0-9a-f]{32,63}(?=[%0-9a-fA-F]{0,12}…))"
# 256 random bits in base64url: sessions of workers, and operator.token of earlier releases; and 48 octets: metadata tokens.
# Whatever has letters of both cases and digits is no digest in hexadecimal digits, and hardly a name.
_RANDOM: Final = r"(?<![\w-])(?=[\w-]*[a-z])(?=[\w-]*[A-Z])(?=[\w-]*[0-9])(?:[\w-]{43}|[\w-]{64})(?![\w-])"
_FORMS: Final = re.compile(f"{_PEOPLES}|{_TICKET}|{_ISSUERS}|{_PUSH}|{_RANDOM}", re.ASCII)
# Such a one with letters before or behind it, or of which a message has the most part: it is told by how often its letters change
# between capitals, small ones and digits.  Of 100 places of a random text that is at 58, at 25 of them beside a digit; names have
# fewer, and digests in hexadecimal digits have one case.
_LETTERS: Final = 43
_MOST_OF_IT: Final = 30
_LONGER: Final = re.compile(rf"(?<![\w-])(?:[\w-]{{{_LETTERS + 1},}}|[\w-]{{{_MOST_OF_IT},}}(?=…))", re.ASCII)
_CHANGES: Final = 0.4
_OF_EACH: Final = 0.07
# How often one may be percent-encoded.
_LAYERS: Final = 3
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
# What may be a token as a whole: letters of one (RFC 6750 §2.1) but `+`, `/` and `=`, which part words in paths and queries.
_WORD: Final = re.compile(r"[\w.~-]{19,}[\w~-]", re.ASCII)
_SHOWN: Final = "…"


class TokenMask:
    """Masks what has the form of a token, and once it was told of them, also those that are `known`."""

    def __init__(self) -> None:
        self._texts: tuple[str, ...] = ()
        self._known: Callable[[str], bool] = lambda _: False

    def know(self, text: str, known: Callable[[str], bool]) -> None:
        """A token that is kept as `text`, masked wherever it stands, and what tells of a word whether it is a token."""
        self._texts = (text,) if text else ()
        self._known = known

    def __call__(self, text: str) -> str:
        """The same text with `…` for each token, behind the beginning that tells of which kind it is.

        Where one is percent-encoded, the whole text is without that, but for control characters.
        """
        layers = [text]
        while len(layers) <= _LAYERS and (decoded := unquote(layers[-1], errors="replace")) != layers[-1]:
            layers.append(decoded)
        # The innermost first: of a token that is encoded in part, another layer has a part.
        for plain in reversed(layers[1:]):
            if (masked := self._masked(plain)) != plain:
                return _CONTROL.sub(lambda found: f"%{ord(found[0]):02X}", masked)
        return self._masked(text)

    def _masked(self, text: str) -> str:
        for each in self._texts:
            text = text.replace(each, _SHOWN)
        text = _LONGER.sub(_unless_a_name, _FORMS.sub(_beginning, text))
        return _WORD.sub(self._unless_known, text)

    def _unless_known(self, found: re.Match[str]) -> str:
        return _SHOWN if self._known(found[0]) else found[0]


def _beginning(found: re.Match[str]) -> str:
    kind = found["ticket"] or found["issuer"] or (found["people"] or "").lower()
    return f"{kind}{_SHOWN}"


def _unless_a_name(found: re.Match[str]) -> str:
    """`…` for what has a random text within, of as many letters as a token has, or as were left of one."""
    kinds = [_kind(letter) for letter in found[0]]
    size = min(_LETTERS, len(kinds))
    pairs = ["".join(sorted(each)) for each in pairwise(kinds)]
    at_case, at_digits = ([0, *accumulate(pair in changes for pair in pairs)] for changes in (("Aa",), ("1A", "1a")))
    for begin, end in enumerate(range(size - 1, len(kinds))):
        case, digits = at_case[end] - at_case[begin], at_digits[end] - at_digits[begin]
        if case + digits >= _CHANGES * size and min(case, digits) > _OF_EACH * size:
            return _SHOWN
    return found[0]


def _kind(letter: str) -> str:
    """Capital, small letter or digit; empty: what parts words."""
    return "A" if letter.isupper() else "a" if letter.islower() else "1" if letter.isdigit() else ""
