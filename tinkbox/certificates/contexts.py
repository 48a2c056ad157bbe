"""What the doors of ours speak: TLS 1.2, which iPXE has, and 1.3; HTTP/1.1 within."""

import ssl
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Final

# With forward secrecy, and authenticated (RFC 9325 §4.2): who gets the key of a certificate later reads nothing of before.
_FORWARD_SECRET: Final = ("ECDHE+AESGCM", "ECDHE+CHACHA20")
# Without it: iPXE before 2024, as in the boot ROM of a card, and firmware of edk2 before 2022 have no elliptic curves.
_OF_OLD_FIRMWARE: Final = (
    "AES128-GCM-SHA256",
    "AES256-GCM-SHA384",
    "AES128-SHA256",
    "AES256-SHA256",
    "AES128-SHA",
    "AES256-SHA",
)


class Door(Enum):
    """A kind of door, by the suites of TLS 1.2 that it offers, in the order in which it prefers them.

    Those of TLS 1.3 are all forward secret.
    """

    OPERATOR = _FORWARD_SECRET
    NODE = (*_FORWARD_SECRET, *_OF_OLD_FIRMWARE)


Contexts = Mapping[Door, ssl.SSLContext]


def server_contexts() -> Contexts:
    """For each kind of door one, without their certificate yet."""
    return {each: _server_context(each) for each in Door}


def show(contexts: Contexts, chain: Path, key: Path | None = None) -> None:
    """Have all of them show a certificate, of whose chain the file may have the key as well.  Raises ssl.SSLError and OSError."""
    for each in contexts.values():
        each.load_cert_chain(chain, key)


def _server_context(door: Door) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_CIPHER_SERVER_PREFERENCE
    context.set_ciphers(":".join(door.value))
    context.set_alpn_protocols(["http/1.1"])
    return context
