"""All of Sprig's functions for one rendering after the other.

They stand apart from the package itself because cryptography and bcrypt come with them, which the worker does without.
"""

from collections.abc import Mapping
from typing import Final

from tinkbox.sprig import FUNCTIONS, chance
from tinkbox.sprig.arguments import Function
from tinkbox.sprig.cryptography import certificates, ciphers, passwords, private_keys
from tinkbox.sprig.dates import functions as dates
from tinkbox.sprig.surroundings import Surroundings


def functions(around: Surroundings) -> Mapping[str, Function]:
    """Every function by name."""
    return {**FUNCTIONS, **of_surroundings(around)}


def of_surroundings(around: Surroundings) -> Mapping[str, Function]:
    """Those of dates, chance, passwords, keys and certificates."""
    return {
        **dates.functions(around),
        **chance.functions(around),
        **passwords.functions(around),
        **ciphers.functions(around),
        **private_keys.functions(around),
        **certificates.functions(around),
    }


_NOWHERE: Final = Surroundings(0, bytes, lambda _: None)
NAMES: Final = frozenset(functions(_NOWHERE))
SLOW: Final = frozenset(
    {**passwords.functions(_NOWHERE), **private_keys.functions(_NOWHERE), **certificates.functions(_NOWHERE)}
)
"""The names of those that may take a good part of a second, for which a rendering pays (`Surroundings.pay`)."""
