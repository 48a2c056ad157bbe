"""Tokens in texts that are kept, logged or sent on: which are masked, and what is left alone."""

import base64
import secrets

import pytest

from tinkbox.engine.machines.boot_tickets import BootTicket, Kind, Seal
from tinkbox.engine.machines.metadata_tokens import MetadataTokens
from tinkbox.model.token_mask import TokenMask
from tinkbox.registry.protocol.push_tokens import PushTokens

SEAL = Seal(b"key")
ID = "0eba0bf8-3772-4b4a-ab9f-6ebe93b90a94"
TICKET = SEAL.sealed(BootTicket(kind=Kind.BY_HAND, holder=ID, address="", serial=7))
# As `secrets.token_urlsafe(32)` makes them; some have a `-` or `_` at an end.
SESSION = "_xu7O3pcZUqkTbGlw5SUiN2gR4vm1KaQeYhDWj0s8f-"
ISSUERS = f"eyJ{base64.urlsafe_b64encode(b'x' * 60).decode()}.eyJzdWIiOiJhbm4ifQ.{SESSION}"
FORMS = {
    "person's": ("tbx_" + "0123456789ab" * 4, "tbx_…"),
    "person's that was cut off": ("TBX_0123ABCD", "tbx_…"),
    "boot ticket": (TICKET, "boot-ticket.…"),
    "boot ticket that was cut off": (TICKET[:30], "boot-ticket.…"),
    "session": (SESSION, "…"),
    "metadata": (MetadataTokens(SEAL).token(ID, ID), "…"),
    "push": (PushTokens(b"key", lambda: 12.5).issue(ID), "…"),
    "operator's push": (PushTokens(b"key", lambda: 12.5).issue(""), "…"),
    "issuer's": (ISSUERS, "eyJ…"),
}


@pytest.mark.parametrize("text", ["{}", "no machine '{}' here", "DELETE /v1/hardware/{}/tasks?name={}&x=1", "({})"])
@pytest.mark.parametrize("form", FORMS)
def test_what_has_the_form_of_a_token_is_masked_wherever_it_is_a_word(form: str, text: str) -> None:
    token, shown = FORMS[form]
    assert TokenMask()(text.replace("{}", token)) == text.replace("{}", shown)


@pytest.mark.parametrize(
    "text",
    [
        "sha256:" + "0123456789abcdef" * 4, "SHA256:4F:09:AA", ID, f"workflow {ID} on 08:00:27:00:00:01", "tbx_1", "boot-ticket.",
        "127.0.0.1:5000/tools/image:v1@sha256:" + "ab" * 32, "PUT /v2/{name}/manifests/{selector}", "1.2.3", "x" * 43, "A" * 64, "",
        "a-name-of-a-machine-in-the-third-rack-of-lab-2", "PROLIANT-DL380-Gen10-CZ1234567890-slot-7", "ü" * 43,
    ],
)  # fmt: skip
def test_names_digests_and_ids_are_left_alone(text: str) -> None:
    assert TokenMask()(text) == text


def test_nearly_every_random_token_has_the_form() -> None:
    """Those without a digit, a small or a capital letter have not: those are known in other ways, or rare enough."""
    missed = [each for each in (secrets.token_urlsafe(32) for _ in range(1_000)) if TokenMask()(each) == each]
    assert len(missed) < 20


def test_kept_token_is_masked_within_longer_words_and_known_ones_where_they_are_whole_words() -> None:
    mask = TokenMask()
    mask.know("chosen-by-hand-0000000", {"one-of-an-earlier-release", "unused"}.__contains__)
    assert mask("x-chosen-by-hand-0000000-y") == "x-…-y"
    assert mask("?name=one-of-an-earlier-release&a=b") == "?name=…&a=b"
    assert mask("one-of-an-earlier-releases") == "one-of-an-earlier-releases"


def test_long_texts_take_no_time() -> None:
    for each in ("x", "0", "aB1-", "eyJ.", "1.", "boot-ticket."):
        text = each * 100_000
        assert TokenMask()(text)
