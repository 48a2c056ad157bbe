"""Tokens to push images with, which are good for nothing else.

Clients fetch one with the token of a person who may operate, and keep it as long as they push; what a log or a cache of
theirs keeps of it later opens nothing.  They are in memory alone: after a restart clients fetch another, by themselves.
"""

import hmac
from collections.abc import Callable
from hashlib import sha256
from typing import Final

LIFETIME: Final = 900  # seconds; clients fetch another in time


class PushTokens:
    """`key` is a secret of this process, `monotonic` a clock in seconds.  A token is when it ends, and a signature."""

    def __init__(self, key: bytes, monotonic: Callable[[], float]) -> None:
        self._key = key
        self._monotonic = monotonic

    def issue(self) -> str:
        """A token for the next LIFETIME seconds."""
        return self._signed(str(int(self._monotonic()) + LIFETIME))

    def accepts(self, token: str) -> bool:
        """Whether it is one of ours, and not too old."""
        until = token.partition(".")[0]
        ours = hmac.compare_digest(token.encode(errors="replace"), self._signed(until).encode(errors="replace"))
        return ours and self._monotonic() < int(until)

    def _signed(self, until: str) -> str:
        mark = hmac.new(self._key, f"push.{until}".encode(errors="replace"), sha256).hexdigest()
        return f"{until}.{mark}"
