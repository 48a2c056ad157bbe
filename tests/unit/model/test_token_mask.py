"""Tokens in texts that are kept, logged or sent on: which are masked, and what is left alone."""

import base64
import hashlib
import secrets
from urllib.parse import quote, unquote

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

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
        "a-name-of-a-machine-in-the-third-rack-of-lab-2", "PROLIANT-DL380-Gen10-CZ1234567890-slot-7-of-the-rack-R12-in-Lab-2",
        "TheStorageServerOfTheLaboratoryInTheRackNumber12OfTheHall", "DELL-PowerEdge-R640-SN-ABC1234-and-more-of…", "100%25%41%zz%", "%0a%C3", "PROLIANT-DL380-Gen10-CZ1234567890-slot-7", "ü" * 43,
    ],
)  # fmt: skip
def test_names_digests_and_ids_are_left_alone(text: str) -> None:
    assert TokenMask()(text) == text


NEIGHBOURS = st.text(alphabet="/?&=+ ,;:()[]{}'\"<>|%\n\x00ü€", max_size=8)


def encoded(token: str, which: int, layers: int) -> str:
    """A token with some of its letters percent-encoded, so many times."""
    for layer in range(layers):
        letters = (
            f"%{ord(each):02X}" if which >> (number + 7 * layer) % 64 & 1 else each for number, each in enumerate(token)
        )
        token = "".join(letters)
    return token


@settings(max_examples=400, derandomize=True, database=None, deadline=None)
@given(
    form=st.sampled_from([*FORMS, "kept", "known"]), before=NEIGHBOURS, behind=NEIGHBOURS, which=st.integers(0, 2**64 - 1),
    layers=st.integers(0, 3),
)  # fmt: skip
@example(form="session", before="%", behind="", which=0, layers=0)
@example(form="issuer's", before="", behind="", which=963, layers=3)
@example(form="person's", before="a=%2", behind="%", which=2**64 - 1, layers=1)
def test_no_token_is_left_of_a_text_however_its_letters_are_encoded(
    form: str, before: str, behind: str, which: int, layers: int
) -> None:
    mask, own, known = TokenMask(), "chosen-by-hand-0000000", "one-of-an-earlier-release"
    mask.know(own, {known}.__contains__)
    token = {"kept": own, "known": known}.get(form) or FORMS[form][0]
    left = mask(f"{before}{encoded(token, which, layers)}{behind}")
    for _ in range(4):
        assert token not in left
        assert token[-16:] not in left or form.endswith("cut off"), "nor its end"
        left = unquote(left)


def test_random_token_is_masked_whatever_stands_beside_it_and_when_its_last_letters_are_cut_off() -> None:
    for text in (
        f"x{SESSION}",
        f"{SESSION}x",
        f"a-name-{SESSION}_and-more",
        "x" * 290 + SESSION,
        f"no machine '{SESSION[:40]}…'",
    ):
        assert SESSION[:20] not in TokenMask()(text), text
    missed = [each for each in (secrets.token_urlsafe(32) for _ in range(1_000)) if each in TokenMask()(f"x{each}")]
    assert len(missed) < 80, "about 25"


@pytest.mark.parametrize("layers", [0, 1, 2])
@pytest.mark.parametrize("form", ["push", "operator's push"])
def test_push_token_of_which_a_message_has_the_most_part_is_masked(form: str, layers: int) -> None:
    token = FORMS[form][0]
    printed = encoded(token, 2**64 - 1, layers)
    for end in range(len(printed) // 2, len(printed)):
        left = TokenMask()(f"no machine '{printed[:end]}…'")
        for _ in range(layers):
            left = unquote(left)
        assert token[-64:][:33] not in left, end


def test_text_without_a_token_keeps_its_encoding_and_one_with_a_token_has_no_control_character() -> None:
    assert TokenMask()("a%2Fb%0A%41") == "a%2Fb%0A%41"
    assert (
        TokenMask()(f"%0a%1B[2J{quote('tbx_' + '0123456789ab' * 4, safe='')}".replace("_", "%5F")) == "%0A%1B[2Jtbx_…"
    )


@pytest.mark.parametrize(
    "shown", ["{}", "sha256:{}", "with the command sha256:{}; with KEY", "{}…", "x{}", "{}-{}", "%2F{}", "{}-Signature"]
)
def test_no_digest_is_taken_for_a_token(shown: str) -> None:
    for number in range(200):
        digest = hashlib.sha256(str(number).encode()).hexdigest()
        for each in (digest, digest.upper(), digest[:32], digest[:40]):
            text = shown.replace("{}", each)
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
    for each in ("x", "0", "aB1-", "eyJ.", "1.", "boot-ticket.", "%41", "%25", "aB1…"):
        text = each * 100_000
        assert TokenMask()(text)
