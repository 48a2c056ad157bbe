"""Certificates are those of Sprig: others verify them, and they say what a template asked for."""

import base64
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key
from cryptography.x509.verification import PolicyBuilder, Store

from tests.unit.sprig.around import MOMENT, around
from tinkbox.gotemplate import TemplateError, parse
from tinkbox.gotemplate.types.structs import Struct
from tinkbox.sprig.all_functions import functions

NOW = datetime.fromtimestamp(MOMENT // 10**9, UTC)


def rendered(text: str) -> str:
    return parse(text, functions=functions(around())).render({})


def parts(text: str) -> list[x509.Certificate]:
    return [x509.load_pem_x509_certificate(each.encode()) for each in text.split("|") if "CERTIFICATE" in each]


@pytest.mark.parametrize("kind", ["rsa 2048", "ecdsa", "ed25519"])
def test_a_signed_certificate_is_verified_by_its_authority(kind: str) -> None:
    key = "" if kind == "rsa 2048" else f'(genPrivateKey "{kind}")'
    way = "WithKey" if key else ""
    name, ca_name = f"genSignedCert{'WithKey' if key else ''}", f"genCA{way}"
    text = rendered(
        f'{{{{ $ca := {ca_name} "lab" 365 {key} }}}}{{{{ $one := {name} "www.lab" (list "10.0.0.1" "::1") '
        f'(list "www.lab" "*.lab") 30 $ca {key} }}}}{{{{ $ca.Cert }}}}|{{{{ $one.Cert }}}}|{{{{ $one.Key }}}}'
    )
    authority, certificate = parts(text)
    assert certificate.issuer == authority.subject
    certificate.verify_directly_issued_by(authority)
    if kind != "ed25519":  # which is not among the algorithms of the web
        verifier = PolicyBuilder().store(Store([authority])).time(NOW).build_server_verifier(x509.DNSName("www.lab"))
        assert verifier.verify(certificate, []) == [certificate, authority]
    own = load_pem_private_key(text.split("|")[2].encode(), None).public_key()
    form = (Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    assert certificate.public_key().public_bytes(*form) == own.public_bytes(*form)


def test_a_certificate_says_what_sprigs_do() -> None:
    text = rendered(
        '{{ $key := genPrivateKey "ecdsa" }}{{ $ca := genCAWithKey "lab" 365 $key }}'
        '{{ $c := genSignedCertWithKey "a" (list "10.0.0.1" "::ffff:10.0.0.2") (list "b" "c") 2 $ca $key }}{{ $ca.Cert }}|{{ $c.Cert }}'
    )
    authority, certificate = parts(text)
    assert certificate.subject.rfc4514_string() == "CN=a"
    assert (certificate.not_valid_before_utc, certificate.not_valid_after_utc) == (NOW, NOW + timedelta(days=2))
    held = {each.oid._name: each for each in certificate.extensions}
    names = [each.value for each in held["subjectAltName"].value]
    assert names == ["b", "c", ip_address("10.0.0.1"), ip_address("10.0.0.2")]
    assert {name: each.critical for name, each in held.items()} == {
        "keyUsage": True,
        "extendedKeyUsage": False,
        "basicConstraints": True,
        "authorityKeyIdentifier": False,
        "subjectAltName": False,
    }
    of_authority = {each.oid._name: each.value for each in authority.extensions}
    assert of_authority["basicConstraints"].ca
    assert of_authority["keyUsage"].key_cert_sign
    assert not held["keyUsage"].value.key_cert_sign
    assert held["authorityKeyIdentifier"].value.key_identifier == of_authority["subjectKeyIdentifier"].digest
    assert authority.serial_number != certificate.serial_number


def test_without_a_name_the_others_are_critical() -> None:
    (certificate,) = parts(
        rendered('{{ (genSelfSignedCertWithKey "" nil (list "a") 1 (genPrivateKey "ed25519")).Cert }}|')
    )
    assert certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).critical
    assert not list(certificate.subject)


def test_a_custom_certificate_is_passed_on_as_it_is() -> None:
    made = functions(around())
    given = made["genSelfSignedCertWithKey"]("x", None, None, 1, made["genPrivateKey"]("ed25519"))
    assert isinstance(given, Struct)
    coded = [base64.b64encode(str(given[each]).encode()).decode() for each in ("Cert", "Key")]
    assert made["buildCustomCert"](*coded) == given


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        ('genSelfSignedCertWithKey "x" (list 1) nil 1 (genPrivateKey "ecdsa")', "error parsing ip: 1 is not a string"),
        ('genSelfSignedCertWithKey "x" (list "1.2") nil 1 (genPrivateKey "ecdsa")', "error parsing ip: 1.2"),
        ('genSelfSignedCertWithKey "x" (list "fe80::1%eth0") nil 1 (genPrivateKey "ecdsa")', "error parsing ip"),
        ('genSelfSignedCertWithKey "x" nil (list 1) 1 (genPrivateKey "ecdsa")', "1 is not a string"),
        ('genSelfSignedCertWithKey "x" nil (list "ü") 1 (genPrivateKey "ecdsa")', "cannot be encoded as an IA5String"),
        (
            'genCAWithKey "x" 9999999 (genPrivateKey "ecdsa")',
            "ends in the year 9999 at the latest, not in 9999999 days",
        ),
        (
            'genCAWithKey "x" 9223372036854775807 (genPrivateKey "ecdsa")',
            "at the latest, not in 9223372036854775807 days",
        ),
        ('genCAWithKey (repeat 65 "x") 1 (genPrivateKey "ecdsa")', "error creating certificate"),
        ('genCAWithKey "x" 1 (genPrivateKey "dsa")', "only RSA, ECDSA and Ed25519 keys supported"),
        ('genCAWithKey "x" 1 "none"', "parsing private key: no PEM data in input"),
        ('genSignedCert "x" nil nil 1 (dict "Cert" "" "Key" "")', "expected sprig.certificate; got map"),
        ('genSelfSignedCertWithKey "x" (until 3) nil 1 "x"', r"expected \[\]interface {}; got \[\]int"),
        ('buildCustomCert "!" "!"', "unable to decode base64 certificate"),
        ('buildCustomCert "" "!"', "unable to decode base64 private key"),
        ('buildCustomCert "eA==" "eA=="', "unable to decode certificate"),
    ],
)
def test_what_no_certificate_can_have_is_refused(call: str, problem: str) -> None:
    with pytest.raises(TemplateError, match=problem):
        rendered(f"{{{{ {call} }}}}")


def test_one_rendering_makes_some_certificates_and_no_more() -> None:
    with pytest.raises(TemplateError, match="too many keys and passwords"):
        rendered('{{ range until 100 }}{{ $c := genCA "x" 1 }}{{ end }}')
