"""Sprig's AES: CBC with a key of 256 bits that is the password itself, the vector in front, all of it in base64.

This protects nothing from who can guess the password: it is not derived slowly, and nothing proves that a text was not changed.
"""

import base64
from collections.abc import Mapping
from typing import Final

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from tinkbox.gotemplate.values import GoError, from_bytes, to_bytes
from tinkbox.sprig.arguments import Function, typed
from tinkbox.sprig.surroundings import Surroundings
from tinkbox.sprig.text.basecodes import base64_bytes

KEY: Final = 32
BLOCK: Final = 16


def functions(around: Surroundings) -> Mapping[str, Function]:
    """The functions by name, with a rendering's source of chance."""

    def encrypt(password: str, text: str) -> str:
        if not text:
            return ""
        data = to_bytes(text)
        missing = BLOCK - len(data) % BLOCK
        vector = around.chance(BLOCK)
        encryptor = _cipher(password, vector).encryptor()
        hidden = encryptor.update(data + bytes([missing]) * missing) + encryptor.finalize()
        return base64.b64encode(vector + hidden).decode("ascii")

    return {"encryptAES": typed(encrypt, "string", "string"), "decryptAES": typed(decrypt, "string", "string")}


def decrypt(password: str, hidden: str) -> str:
    """Raises GoError for what is no base64, or was not encrypted like this; a wrong password mostly gives nonsense."""
    if not hidden:
        return ""
    data = base64_bytes(hidden)
    if len(data) < 2 * BLOCK or len(data) % BLOCK:
        raise GoError(f"what is encrypted has {len(data)} bytes, and not some blocks of {BLOCK} behind the first one")
    decryptor = _cipher(password, data[:BLOCK]).decryptor()
    text = decryptor.update(data[BLOCK:]) + decryptor.finalize()
    if text[-1] > len(text):
        raise GoError("the password is wrong, or what is encrypted was changed")
    return from_bytes(text[: len(text) - text[-1]])


def _cipher(password: str, vector: bytes) -> Cipher[modes.CBC]:
    return Cipher(algorithms.AES(to_bytes(password)[:KEY].ljust(KEY, b"\0")), modes.CBC(vector))
