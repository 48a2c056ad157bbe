"""An issuer over HTTPS is believed when an authority that the box was told, or that its host trusts, signed its certificate."""

import socket
import ssl
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.integration.catalogue.mirror import certificate_for
from tests.issuer import Issuer, issuer
from tests.unit.settings.configured import loaded
from tinkbox.appliance import examine_issuer
from tinkbox.client.issuer import IssuerClient, trusting
from tinkbox.model.errors import Unavailable
from tinkbox.oidc.id_tokens import head_of
from tinkbox.oidc.issuer_keys import IssuerKeys, authority_in


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """With its key in the same file."""
    return certificate_for(tmp_path, "127.0.0.1")


@pytest.fixture
async def secure(certificate: Path) -> AsyncIterator[Issuer]:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)
    async with issuer(lambda: 1e9, tls) as served:
        yield served


async def test_an_issuer_with_the_authority_that_the_box_was_told_is_believed(
    secure: Issuer, certificate: Path
) -> None:
    keys = IssuerKeys(secure.url, authority_in(certificate), time.monotonic)
    assert [each.id for each in await keys.fitting(head_of(secure.id_token()))] == ["rsa"]
    async with IssuerClient(secure.url, trusting(authority_in(certificate))) as client:
        assert (await client.discovery()).token_endpoint == f"{secure.url}/token"


async def test_an_issuer_with_a_certificate_of_another_authority_is_not(secure: Issuer, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    for ca in ("", authority_in(certificate_for(tmp_path / "other", "127.0.0.1"))):
        keys = IssuerKeys(secure.url, ca, time.monotonic)
        told = (
            r"does not tell its keys: the box cannot reach 127\.0\.0\.1:\d+: its certificate is not trusted \(self-signed certificate\): "
            r"set operator\.oidc\.ca in the box's tinkbox\.yaml to the file \(PEM\) of the authority"
        )
        with pytest.raises(Unavailable, match=told):
            await keys.fitting(head_of(secure.id_token()))
    assert secure.asked == []


async def test_person_is_told_that_it_is_their_computer_which_does_not_reach_the_issuer() -> None:
    with socket.socket() as taken:  # bound, and nothing listens
        taken.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        async with IssuerClient(f"http://{place}") as client:
            with pytest.raises(
                Unavailable, match=f"^this computer cannot reach {place}: .*: check the network and the proxy of this"
            ):
                await client.discovery()


def test_of_the_authoritys_file_nothing_but_certificates_is_told_to_everybody(certificate: Path) -> None:
    assert "PRIVATE KEY" in certificate.read_text()
    assert authority_in(certificate).count("-----BEGIN") == 1
    assert "PRIVATE" not in authority_in(certificate)


@pytest.mark.parametrize(
    "content", [None, b"", b"x", b"\xff", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"]
)
def test_an_authority_that_cannot_be_read_is_told_at_the_start(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "ca.pem"
    if content is not None:
        file.write_bytes(content)
    text = f"operator: {{oidc: {{issuer: https://a.example, client_id: x, groups: {{a: [look]}}, ca: {file}}}}}"
    with pytest.raises(Unavailable, match=f"cannot read operator.oidc.ca, {file}: .*: name a file of certificates"):
        examine_issuer(loaded(tmp_path, text))
