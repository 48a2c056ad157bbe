"""A TPM 2.0's commands and answers, as far as it takes to show which TPM a machine has (TCG TPM 2.0 Library, parts 2 and 3).

The endorsement key is made anew from the templates L-2 (elliptic curve) and L-1 (RSA) of the TCG EK Credential Profile,
§B.3: a TPM makes the same key whenever it is asked, and no other TPM makes it.  The attestation key beside it is what a
challenge is bound to: only the TPM in which both are can open it.
"""

import hashlib
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tinkbox.model.errors import Invalid

SECRET_BYTES: Final = 32
NAME_BYTES: Final = 34  # of an object: its hash algorithm, and the SHA-256 of its public area
MAX_ANSWER: Final = 4_096

_NO_SESSIONS, _SESSIONS = 0x8001, 0x8002  # TPM_ST
_CREATE_PRIMARY, _FLUSH, _START_SESSION = 0x131, 0x165, 0x176  # TPM_CC
_ACTIVATE, _POLICY_SECRET = 0x147, 0x151
_ENDORSEMENT, _NULL, _PASSWORD = 0x4000000B, 0x40000007, 0x40000009  # TPM_RH, TPM_RS
_POLICY = 0x01  # TPM_SE
_RSA, _AES, _SHA256, _NONE, _RSASSA, _ECDSA, _ECC, _CFB = 0x01, 0x06, 0x0B, 0x10, 0x14, 0x18, 0x23, 0x43  # TPM_ALG
_P256 = 0x0003
_BITS, _BYTES = 2048, 256
_COORDINATE = 32
# PolicySecret(TPM_RH_ENDORSEMENT), which stands in every endorsement key of the two templates.
_EK_POLICY = bytes.fromhex("837197674484b3f81a90cc8d46a5d724fd52d76e06520b64f2a1da1b331469aa")
_EK_ATTRIBUTES, _AK_ATTRIBUTES = 0x000300B2, 0x00050072
_HEADER = struct.Struct(">HII")


def _sized(content: bytes) -> bytes:
    return struct.pack(">H", len(content)) + content


def _public(kind: int, attributes: int, policy: bytes, parameters: Sequence[int], unique: bytes) -> bytes:
    """A TPMT_PUBLIC, up to its parameters, each of two octets, and what makes it unique."""
    head = struct.pack(">HHI", kind, _SHA256, attributes) + _sized(policy)
    return head + struct.pack(f">{len(parameters)}H", *parameters) + unique


_ECC_EK: Final = (_ECC, _EK_ATTRIBUTES, _EK_POLICY, (_AES, 128, _CFB, _NONE, _P256, _NONE))
_RSA_EK: Final = (_RSA, _EK_ATTRIBUTES, _EK_POLICY, (_AES, 128, _CFB, _NONE, _BITS, 0, 0))
_ECC_AK: Final = (_ECC, _AK_ATTRIBUTES, b"", (_NONE, _ECDSA, _SHA256, _P256, _NONE))
_RSA_AK: Final = (_RSA, _AK_ATTRIBUTES, b"", (_NONE, _RSASSA, _SHA256, _BITS, 0, 0))
_NO_POINT, _NO_MODULUS = _sized(bytes(_COORDINATE)) * 2, _sized(bytes(_BYTES))


@dataclass(frozen=True, slots=True)
class KeyTemplates:
    """What an endorsement key and an attestation key of one kind are made from: TPMT_PUBLICs."""

    endorsement: bytes
    attestation: bytes


# In the order in which they are tried: RSA keys take a TPM chip seconds.
TEMPLATES: Final = (
    KeyTemplates(_public(*_ECC_EK, _NO_POINT), _public(*_ECC_AK, _sized(b"") * 2)),
    KeyTemplates(_public(*_RSA_EK, _NO_MODULUS), _public(*_RSA_AK, _sized(b""))),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EndorsementKey:
    """A TPM's endorsement key: either `modulus`, of RSA with the exponent 65537, or the `point` of P-256, x and y.

    `public` is its TPMT_PUBLIC, as the TPM marshalled it.
    """

    public: bytes
    modulus: int = 0
    point: tuple[int, int] = (0, 0)


def read_endorsement_key(public: bytes) -> EndorsementKey:
    """The key of a TPMT_PUBLIC.  Raises Invalid unless it was made from one of the two templates."""
    ecc, rsa = _public(*_ECC_EK, b""), _public(*_RSA_EK, _sized(bytes(_BYTES))[:2])
    # The product of two primes of half its length: odd, and as long as it says.
    if public.startswith(rsa) and len(public) == len(rsa) + _BYTES and public[len(rsa)] & 0x80 and public[-1] & 1:
        return EndorsementKey(public=public, modulus=int.from_bytes(public[len(rsa) :]))
    if public.startswith(ecc):
        x, rest = _taken(public[len(ecc) :])
        y, rest = _taken(rest)
        if not rest and x and y and max(len(x), len(y)) <= _COORDINATE:
            return EndorsementKey(public=public, point=(int.from_bytes(x), int.from_bytes(y)))
    raise Invalid("this is no endorsement key of a TPM 2.0: neither of the template L-1 nor L-2")


def name_of(public: bytes) -> bytes:
    """The name of an object with this TPMT_PUBLIC (part 1, §16): what a challenge is bound to."""
    return struct.pack(">H", _SHA256) + hashlib.sha256(public).digest()


class TpmRefused(Exception):
    """A TPM answered with another code than 0, or with what is no answer; `str()` says so."""


def create_primary(template: bytes) -> bytes:
    """Make a key of the endorsement hierarchy; its answer is for `created`."""
    sensitive = _sized(_sized(b"") + _sized(b""))
    body = sensitive + _sized(template) + _sized(b"") + struct.pack(">I", 0)
    return _command(_CREATE_PRIMARY, (_ENDORSEMENT,), (_PASSWORD,), body)


def start_policy_session(nonce: bytes) -> bytes:
    """Begin a session that meets a policy; its answer is for `handle_of`.  The nonce has at least 16 octets."""
    body = _sized(nonce) + _sized(b"") + struct.pack(">BHH", _POLICY, _NONE, _SHA256)
    return _command(_START_SESSION, (_NULL, _NULL), (), body)


def policy_secret(session: int) -> bytes:
    """Meet the endorsement key's policy in a session."""
    body = _sized(b"") * 3 + struct.pack(">i", 0)
    return _command(_POLICY_SECRET, (_ENDORSEMENT, session), (_PASSWORD,), body)


def activate_credential(attestation: int, endorsement: int, session: int, credential: bytes, secret: bytes) -> bytes:
    """Open a challenge for these two keys, by a session that met the policy; its answer is for `activated`."""
    return _command(_ACTIVATE, (attestation, endorsement), (_PASSWORD, session), _sized(credential) + _sized(secret))


def flush(handle: int) -> bytes:
    """Forget a key or a session."""
    return _command(_FLUSH, (), (), struct.pack(">I", handle))


def handle_of(answer: bytes) -> int:
    """The handle that an answer begins with.  Raises TpmRefused."""
    return int(struct.unpack(">I", _body(answer, 4)[:4])[0])


def created(answer: bytes) -> tuple[int, bytes]:
    """The handle of a key and its TPMT_PUBLIC.  Raises TpmRefused."""
    public, _ = _taken(_body(answer, 10)[8:])
    return handle_of(answer), public


def activated(answer: bytes) -> bytes:
    """The secret of a challenge.  Raises TpmRefused."""
    return _taken(_body(answer, 6)[4:])[0]


def check(answer: bytes) -> None:
    """Raises TpmRefused unless an answer says that it was done."""
    _body(answer, 0)


def _command(code: int, handles: Sequence[int], sessions: Sequence[int], body: bytes) -> bytes:
    # Of each session its handle; no nonce, no attributes, no password.
    authorisations = b"".join(struct.pack(">IHBH", each, 0, 0, 0) for each in sessions)
    area = struct.pack(">I", len(authorisations)) + authorisations if sessions else b""
    content = struct.pack(f">{len(handles)}I", *handles) + area + body
    return _HEADER.pack(_SESSIONS if sessions else _NO_SESSIONS, _HEADER.size + len(content), code) + content


def _body(answer: bytes, least: int) -> bytes:
    """What follows the header."""
    if len(answer) < _HEADER.size:
        raise TpmRefused("the TPM gave no answer")
    _, length, code = _HEADER.unpack_from(answer)
    if code:
        raise TpmRefused(f"the TPM refused with the response code {code:#x}")
    if length != len(answer) or length < _HEADER.size + least:
        raise TpmRefused("the TPM's answer is cut off")
    return answer[_HEADER.size :]


def _taken(content: bytes) -> tuple[bytes, bytes]:
    """What is sized at the beginning, and what follows; both empty where it is cut off."""
    end = 2 + int.from_bytes(content[:2])
    return (content[2:end], content[end:]) if len(content) >= max(end, 2) else (b"", b"")
