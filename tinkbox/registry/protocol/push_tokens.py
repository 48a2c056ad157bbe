"""Tokens to push images with, which are good for nothing else.

Clients fetch one with the token of a person who may push, and keep it as long as they push; what a log or a cache of
theirs keeps of it later opens nothing.  They are in memory alone: after a restart clients fetch another, by themselves.
"""

import hmac
from collections.abc import Callable
from hashlib import sha256
from typing import Final

LIFETIME: Final = 900  # seconds; clients fetch another in time


class PushTokens:
    """`key` is a secret of this process, `monotonic` a clock in seconds.

    One is when it ends, in hexadecimal digits the id of the token that it was given for, and a signature of both.
    """

    def __init__(self, key: bytes, monotonic: Callable[[], float]) -> None:
        self._key = key
        self._monotonic = monotonic

    def issue(self, token: str) -> str:
        """One for the token of this id, empty: the operator's, for the next LIFETIME seconds."""
        text = f"{int(self._monotonic()) + LIFETIME}.{token.encode().hex()}"
        return f"{text}.{self._signature(text)}"

    def owner(self, push_token: str) -> str | None:
        """The id of the token that it was given for, if it is one of ours and not too old."""
        text, _, signature = push_token.rpartition(".")
        if not hmac.compare_digest(signature.encode(errors="replace"), self._signature(text).encode()):
            return None
        until, _, token = text.partition(".")
        return bytes.fromhex(token).decode() if self._monotonic() < int(until) else None

    def _signature(self, text: str) -> str:
        return hmac.new(self._key, f"push.{text}".encode(errors="replace"), sha256).hexdigest()
