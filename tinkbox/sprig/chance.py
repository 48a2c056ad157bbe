"""Sprig's functions that give something else each time."""

import base64
import string
import uuid
from collections.abc import Mapping
from typing import Final

from tinkbox.gotemplate.values import GoError
from tinkbox.sprig.arguments import Function, typed
from tinkbox.sprig.bounds import bound_text
from tinkbox.sprig.surroundings import Surroundings

ALPHABETS: Final = {
    "randAlphaNum": string.ascii_letters + string.digits,
    "randAlpha": string.ascii_letters,
    "randAscii": "".join(map(chr, range(32, 127))),
    "randNumeric": string.digits,
}


def functions(around: Surroundings) -> Mapping[str, Function]:
    """The functions by name, with a rendering's source of chance."""

    def rand_bytes(count: int) -> str:
        """Give so many random bytes in base64.  Raises GoError for less than none."""
        if count < 0:
            raise GoError(f"{count} bytes cannot be made")
        bound_text(count)
        return base64.b64encode(around.chance(count)).decode("ascii")

    def rand_int(least: int, beyond: int) -> int:
        """Give a number from the first on and below the second.  Raises GoError where there is none."""
        if beyond <= least:
            raise GoError(f"no number is at least {least} and below {beyond}")
        return least + around.below(beyond - least)

    def uuidv4() -> str:
        return str(uuid.UUID(bytes=around.chance(16), version=4))

    def shuffle(text: str) -> str:
        """Put the characters of a text into any order."""
        bound_text(len(text))
        given = list(text)
        for last in range(len(given) - 1, 0, -1):
            other = around.below(last + 1)
            given[last], given[other] = given[other], given[last]
        return "".join(given)

    return {
        **{name: typed(_letters(around, alphabet), "int") for name, alphabet in ALPHABETS.items()},
        "randBytes": typed(rand_bytes, "int"),
        "randInt": typed(rand_int, "int", "int"),
        "uuidv4": typed(uuidv4),
        "shuffle": typed(shuffle, "string"),
    }


def _letters(around: Surroundings, alphabet: str) -> Function:
    def letters(count: int) -> str:
        """Give so many letters of an alphabet, each as likely as any other; none where less than one is asked for."""
        bound_text(count)
        fair = 256 // len(alphabet) * len(alphabet)
        found = ""
        while len(found) < count:
            missing = count - len(found)
            usable = (each for each in around.chance(2 * missing + 16) if each < fair)
            found += "".join(alphabet[each % len(alphabet)] for each, _ in zip(usable, range(missing), strict=False))
        return found

    return letters
