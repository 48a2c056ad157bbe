"""Keys, certificates and ciphers against real Sprig: each takes what the other made.

    make campaign PART=tests/online/test_secrets.py

It needs Go, and Go's module proxy once; without these it is skipped, and says so.
"""

import json
from pathlib import Path

import bcrypt
import pytest
from cryptography import x509

from tests.online.real_go import answers, built
from tinkbox.engine.templates.surroundings import now, surroundings
from tinkbox.gotemplate import parse
from tinkbox.sprig.all_functions import functions

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(3600)]
CERTIFIED = """{{ $key := genPrivateKey .kind }}{{ $ca := genCAWithKey "lab" 365 $key }}\
{{ dict "ca" $ca "one" (genSignedCertWithKey "a" (list "10.0.0.1") (list "b") 30 $ca $key) | toJson }}"""
TAKEN = """{{ $ca := buildCustomCert (b64enc .ca.Cert) (b64enc .ca.Key) }}\
{{ $one := genSignedCertWithKey "c" nil nil 30 $ca .one.Key }}{{ $one.Cert }}|{{ eq $one.Key .one.Key }}"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built("go_templates", tmp_path_factory.mktemp("go"))


def in_go(program: Path, text: str, data: object) -> str:
    (answer,) = answers(program, [{"template": text, "data": data}])
    assert "output" in answer, answer
    return str(answer["output"])


def here(text: str, data: object) -> str:
    return parse(text, functions=functions(surroundings(now()))).render(data)


@pytest.mark.parametrize("kind", ["rsa", "ecdsa", "ed25519"])
def test_each_signs_with_the_certificates_of_the_other(program: Path, kind: str) -> None:
    data = {"kind": kind}
    for made, taken in (
        (in_go(program, CERTIFIED, data), here),
        (here(CERTIFIED, data), lambda text, given: in_go(program, text, given)),
    ):
        certified = json.loads(made)
        certificate, same = taken(TAKEN, certified).split("|")
        assert same == "true"
        authority = x509.load_pem_x509_certificate(certified["ca"]["Cert"].encode())
        x509.load_pem_x509_certificate(certificate.encode()).verify_directly_issued_by(authority)


def test_both_certificates_have_the_same_extensions(program: Path) -> None:
    shown = []
    for made in (in_go(program, CERTIFIED, {"kind": "ecdsa"}), here(CERTIFIED, {"kind": "ecdsa"})):
        for name in ("ca", "one"):
            certificate = x509.load_pem_x509_certificate(json.loads(made)[name]["Cert"].encode())
            changing = (x509.SubjectKeyIdentifier, x509.AuthorityKeyIdentifier)
            shown.append(
                [
                    (each.oid, each.critical, None if isinstance(each.value, changing) else each.value)
                    for each in certificate.extensions
                ]
            )
            assert certificate.signature_hash_algorithm is not None
    assert shown[:2] == shown[2:]


def test_each_decrypts_and_verifies_what_the_other_made(program: Path) -> None:
    data = {"text": "héllo ☺" * 9, "password": "a password of some more than thirty-two bytes"}
    encrypt, decrypt = "{{ encryptAES .password .text }}", "{{ decryptAES .password .hidden }}"
    assert here(decrypt, data | {"hidden": in_go(program, encrypt, data)}) == data["text"]
    assert in_go(program, decrypt, data | {"hidden": here(encrypt, data)}) == data["text"]
    _, hashed = in_go(program, '{{ htpasswd "ann" "secret" }}', {}).split(":")
    assert bcrypt.checkpw(b"secret", hashed.encode())
