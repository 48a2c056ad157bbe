"""Public SSH keys as `authorized_keys` has them, one a line (sshd(8)); what is no public key is refused."""

import base64
import binascii
import re

from tinkbox.model.errors import Invalid, Problem

MAX_TEXT = 64 * 1024
MAX_KEYS = 64
TOLD = 3
_PRIVATE = re.compile(r"PRIVATE KEY-----|PuTTY-User-Key-File")
_SSH2 = "---- BEGIN SSH2 PUBLIC KEY ----"
_KIND = re.compile(r"[A-Za-z0-9][A-Za-z0-9@.-]{0,63}")
_DATA = re.compile(r"[A-Za-z0-9+/]+={0,2}")


def placeholder_problem(text: str) -> str:
    """What to do about a key of which documentation leaves the data out; empty where it is none."""
    if "…" not in text and "..." not in text:
        return ""
    return f"put your own public key in place of {text[:40]!r}: `cat ~/.ssh/id_ed25519.pub` prints it"


def public_keys(text: str, what: str) -> tuple[str, ...]:
    """The keys of a text, each once, in their order; `what` names it in the refusal.

    Raises Invalid for a private key, for a line that is no key, and for a text without any.
    """
    if _PRIVATE.search(text):
        raise Invalid(
            f"{what} is a PRIVATE key, which must stay where it is: name its public half, the file ending in .pub"
        )
    if _SSH2 in text:
        raise Invalid(f"{what} has the form of SSH2 (RFC 4716): `ssh-keygen -i -f FILE` prints the one that is needed")
    if len(text) > MAX_TEXT:
        raise Invalid(f"{what} is longer than {MAX_TEXT // 1024} KiB: a public key is one line")
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), start=1)]
    wanted = [(number, line) for number, line in lines if line and not line.startswith("#")]
    if not wanted:
        raise Invalid(f"{what} has no public key: `ssh-keygen -t ed25519` makes one, in a file ending in .pub")
    wrong = [
        Problem(
            line=number,
            text=placeholder_problem(line) or f"no public key such as ssh-ed25519 AAAA… name@host: {line[:40]!r}",
        )
        for number, line in wanted
        if not _is_key(line)
    ]
    if wrong:
        lines_of = (
            "has a line that is no public SSH key"
            if len(wrong) == 1
            else f"has {len(wrong)} lines that are no public SSH keys"
        )
        raise Invalid(f"{what} {lines_of}: the file that ends in .pub is meant", wrong[:TOLD])
    keys = tuple(dict.fromkeys(line for _, line in wanted))
    if len(keys) > MAX_KEYS:
        raise Invalid(f"{what} has {len(keys)} keys: at most {MAX_KEYS} are taken")
    return keys


def _is_key(line: str) -> bool:
    """Whether the line has a kind and a key's data, with or without options before them."""
    words = line.split()
    return line.isprintable() and any(map(_is_of_kind, words, words[1:]))


def _is_of_kind(kind: str, text: str) -> bool:
    """Whether a key's data say the same kind as the word before it (RFC 4253 §6.6), whichever that is."""
    if not _KIND.fullmatch(kind) or not _DATA.fullmatch(text):
        return False
    try:
        data = base64.b64decode(text, validate=True)
    except binascii.Error:
        return False
    name = kind.encode()
    said = len(name).to_bytes(4, "big") + name
    return data.startswith(said) and len(data) > len(said) + 4
