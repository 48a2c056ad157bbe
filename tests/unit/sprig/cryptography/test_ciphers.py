"""AES is Sprig's: what real Sprig encrypted is decrypted here."""

import base64
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.sprig.around import AROUND
from tinkbox.gotemplate.values import GoError
from tinkbox.sprig.cryptography.ciphers import decrypt, functions

# Recorded from Go: the first password is longer than a key, the second shorter.
OF_GO = [
    (
        "0123456789abcdef0123456789abcdefXYZ",
        "954OaqJgGEfdQQUVWnxdxz2pMVzIbjil8LBLoZoReLn9hGivWqzUZVthPao0bOdZ",
        "plain text of Go: 24 ch.",
    ),
    ("k", "SR+qf6W3p4Pl6hDb2tYV9zIyQvAhnpoNT+jWjGlsRE0=", "héllo"),
]


@pytest.mark.parametrize(("password", "hidden", "text"), OF_GO)
def test_what_sprig_encrypted_is_decrypted(password: str, hidden: str, text: str) -> None:
    assert decrypt(password, hidden) == text


@given(st.text(max_size=50), st.text(max_size=100))
def test_what_is_encrypted_is_decrypted_again(password: str, text: str) -> None:
    encrypt = functions(AROUND)["encryptAES"]
    hidden = str(encrypt(password, text))
    assert decrypt(password, hidden) == text
    assert (hidden == encrypt(password, text)) is (text == "")


@pytest.mark.parametrize(
    "hidden", ["no base64", base64.b64encode(bytes(16)).decode(), base64.b64encode(bytes(40)).decode(), "AAAA"]
)
def test_what_was_not_encrypted_is_refused(hidden: str) -> None:
    with pytest.raises(GoError):
        decrypt("x", hidden)


def test_a_wrong_password_never_ends_in_another_error() -> None:
    for number in range(200):
        with suppress(GoError):
            decrypt(f"wrong {number}", OF_GO[1][1])
