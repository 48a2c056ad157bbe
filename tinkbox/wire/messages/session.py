"""How a worker begins, on the node door, as JSON.

    POST /worker/session   Opening -> Opened or Challenge, with `Authorization: Bearer <boot ticket>`

Every other request of the worker shows the session: `Authorization: Bearer <secret>`, and in the header INSTANCE the process
that asks.  The same opening again gets the same answer; one with another secret is a 403, and must not be sent again.
A Challenge asks for the same opening once more, with the proof in it that the TPM that it shows is there.
"""

from dataclasses import dataclass
from typing import Any, Final

from tinkbox.model.errors import Invalid
from tinkbox.model.program_versions import program_version
from tinkbox.wire.messages.json_fields import fields_of, octets, read_object, text, write
from tinkbox.wire.tpm import NAME_BYTES, EndorsementKey, read_endorsement_key

INSTANCE: Final = "Tinkbox-Instance"
MAX_OPENING: Final = 4_096
_MIN_SECRET = 32
_MAX_TEXT = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownTpm:
    """A machine's TPM 2.0: its endorsement key, the name of its attestation key, and the proof that both are in it.

    The proof is the secret of a challenge for these two; empty: none was asked for yet.
    """

    endorsement_key: EndorsementKey
    name: bytes
    proof: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """A worker exchanges its boot ticket: it makes the `secret` itself, so that nobody else has seen it.

    `boot_id` is the kernel's, `instance` names the process (`model.session.new_instance`), new whenever the worker is
    started.  Empty: it names none, and no later one replaces it.  `no_tpm` says why no TPM is shown; empty: the worker
    is of a release that shows none.
    """

    secret: str
    boot_id: str
    instance: str = ""
    version: str = ""
    tpm: ShownTpm | None = None
    no_tpm: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """`worker` is the machine's id, or the MAC of one that nobody knows."""

    worker: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Challenge:
    """What only the TPM that was shown can open: a TPMS_ID_OBJECT and a TPM2B_ENCRYPTED_SECRET without its size."""

    credential: bytes
    secret: bytes


def encode(message: Opening | Opened | Challenge) -> str:
    """One of them as one line of JSON."""
    fields = fields_of(message)
    if isinstance(message, Opening) and message.tpm is not None:
        fields["tpm"] = fields_of(message.tpm) | {"endorsement_key": message.tpm.endorsement_key.public}
    return write(fields)


def decode_opening(content: str | bytes) -> Opening:
    """Raises Invalid when it is none, or its secret could be guessed."""
    entry = read_object(content, "opening")
    fields = {name: text(entry, name) for name in ("secret", "boot_id")}
    fields |= {name: text(entry, name, "") for name in ("instance", "version", "no_tpm")}
    if len(fields["secret"]) < _MIN_SECRET:
        raise Invalid(f"opening: a secret has at least {_MIN_SECRET} letters")
    if not fields["boot_id"]:
        raise Invalid("opening: boot_id is the kernel's")
    if any(len(each) > _MAX_TEXT for each in fields.values()):
        raise Invalid(f"opening: no field is longer than {_MAX_TEXT} letters")
    program_version(fields["version"])
    return Opening(**fields, tpm=_shown_tpm(entry.get("tpm")))


def decode_answer(content: str | bytes) -> Opened | Challenge:
    """Raises Invalid when it is no answer to an opening."""
    entry = read_object(content, "answer")
    if "credential" in entry:
        return Challenge(credential=octets(entry, "credential"), secret=octets(entry, "secret"))
    return Opened(worker=text(entry, "worker"))


def _shown_tpm(entry: Any) -> ShownTpm | None:
    if entry is None:
        return None
    if not isinstance(entry, dict):
        raise Invalid("tpm is an object")
    name = octets(entry, "name")
    if len(name) != NAME_BYTES:
        raise Invalid(f"the name of an attestation key has {NAME_BYTES} octets")
    key = read_endorsement_key(octets(entry, "endorsement_key"))
    return ShownTpm(endorsement_key=key, name=name, proof=octets(entry, "proof", b""))
