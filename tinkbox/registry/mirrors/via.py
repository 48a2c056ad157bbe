"""Which appliances a request came through, each asking the next as its mirror: the header `Via` (RFC 9110, section 7.6.3).

Two that name each other, or one that names itself, would otherwise wait for their own answer.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

MAX_HOPS: Final = 8
Via = tuple[str, ...]
_HOP: Final = re.compile(r"tinkbox-[0-9a-f]{16}\Z", re.ASCII)


def new_hop(token: str) -> str:
    """The pseudonym of an appliance; of the `token`, in hexadecimal digits, the first 16 count."""
    return f"tinkbox-{token[:16]}"


def via_header(via: Via) -> Mapping[str, str]:
    """The header that tells these appliances, the first one first."""
    return {"Via": ", ".join(f"1.1 {hop}" for hop in via)} if via else {}


def read_via(headers: Sequence[str]) -> Via:
    """The appliances in all headers `Via` of a request, the first one first; other proxies are passed over."""
    received = [entry.split() for header in headers for entry in header.split(",")]
    return tuple(words[1] for words in received if len(words) > 1 and _HOP.match(words[1]))
