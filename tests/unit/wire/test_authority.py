"""Fingerprints of authorities, as people copy them."""

from hashlib import sha256

import pytest

from tinkbox.model.errors import Invalid
from tinkbox.wire.authority import fingerprint, read_fingerprint

PLAIN = sha256(b"certificate").hexdigest()
WRITTEN = fingerprint(b"certificate")


def test_fingerprint_looks_as_browsers_show_it() -> None:
    assert WRITTEN.startswith("SHA256:")
    assert WRITTEN.removeprefix("SHA256:").replace(":", "").lower() == PLAIN
    assert WRITTEN.count(":") == 32


@pytest.mark.parametrize(
    "typed",
    [WRITTEN, WRITTEN.lower(), f" {WRITTEN}\n", PLAIN, PLAIN.upper(), WRITTEN.removeprefix("SHA256:"), WRITTEN.replace("SHA256:", "sha256 Fingerprint=")],
)  # fmt: skip
def test_every_usual_spelling_is_read(typed: str) -> None:
    assert read_fingerprint(typed) == WRITTEN


@pytest.mark.parametrize("typed", ["", "SHA256:", PLAIN[:-2], PLAIN + "00", "SHA1:" + PLAIN, PLAIN[:-1] + "g", "`x`\n"])
def test_anything_else_is_refused(typed: str) -> None:
    with pytest.raises(Invalid, match="is no fingerprint"):
        read_fingerprint(typed)
