"""The machine's TPM against a TPM that nobody here wrote (swtpm), and against the tools that others use for one."""

import hashlib
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.tpm import SoftwareTpm, software_tpm
from tests.workers import opening
from tinkbox.engine.machines.tpm_challenges import fingerprint, sealed_for
from tinkbox.wire import tpm
from tinkbox.wire.messages.session import Challenge, Opening, ShownTpm
from tinkbox.worker.host.tpm import NONE, Tpm, Transmit, opened_device

SECRET = b"s" * tpm.SECRET_BYTES
ECC, RSA = tpm.TEMPLATES


@pytest.fixture(scope="module")
def chip(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SoftwareTpm]:
    with software_tpm(tmp_path_factory.mktemp("tpm")) as running:
        yield running


async def shown(by: Tpm) -> ShownTpm:
    told = await by.shown_in(opening("ticket"))
    assert told.tpm is not None, told.no_tpm
    return told.tpm


async def proven(by: Tpm, what: ShownTpm, challenge: Challenge) -> Opening:
    return await by.proven_in(replace(opening("ticket"), tpm=what), challenge)


def only(templates: tpm.KeyTemplates, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tpm, "TEMPLATES", (templates,))


@pytest.mark.parametrize("templates", [ECC, RSA], ids=["elliptic-curve", "rsa"])
async def test_a_tpm_shows_the_same_key_each_time_and_opens_what_is_sealed_for_it(
    chip: SoftwareTpm, templates: tpm.KeyTemplates, monkeypatch: pytest.MonkeyPatch
) -> None:
    only(templates, monkeypatch)
    worker = chip.worker
    first = await shown(worker)
    assert await shown(chip.worker) == first
    told = await proven(worker, first, sealed_for(first.endorsement_key, first.name, SECRET))
    assert told.tpm is not None
    assert (told.tpm.proof, told.no_tpm) == (SECRET, "")
    # Nothing is left in it that would keep the next one from making keys.
    assert b"0x" not in chip.tool("tpm2_getcap", "handles-transient")
    assert b"0x" not in chip.tool("tpm2_getcap", "handles-loaded-session")


async def test_it_falls_back_to_rsa_where_the_tpm_makes_no_key_of_an_elliptic_curve(
    chip: SoftwareTpm, monkeypatch: pytest.MonkeyPatch
) -> None:
    unknown_scheme = ECC.endorsement[:-70] + b"\x00\x7f" + ECC.endorsement[-68:]
    monkeypatch.setattr(tpm, "TEMPLATES", (tpm.KeyTemplates(unknown_scheme, ECC.attestation), RSA))
    worker = chip.worker
    key = await shown(worker)
    assert key.endorsement_key.modulus
    told = await proven(worker, key, sealed_for(key.endorsement_key, key.name, SECRET))
    assert told.tpm is not None
    assert told.tpm.proof == SECRET


@pytest.mark.parametrize(("kind", "templates"), [("ecc", ECC), ("rsa", RSA)])
async def test_a_fingerprint_is_that_of_the_key_that_tpm2_tools_make(
    chip: SoftwareTpm, tmp_path: Path, kind: str, templates: tpm.KeyTemplates, monkeypatch: pytest.MonkeyPatch
) -> None:
    context, public = tmp_path / "ek.context", tmp_path / "ek.der"
    chip.tool("tpm2_createek", "-c", context, "-G", kind)
    chip.tool("tpm2_readpublic", "-c", context, "-f", "der", "-o", public)
    only(templates, monkeypatch)
    key = await shown(chip.worker)
    assert fingerprint(key.endorsement_key) == hashlib.sha256(public.read_bytes()).hexdigest()


async def test_a_challenge_for_another_name_or_another_tpm_or_that_was_changed_is_opened_by_none(
    chip: SoftwareTpm, tmp_path: Path
) -> None:
    worker = chip.worker
    own = await shown(worker)
    with software_tpm(tmp_path / "another") as another:
        other = await shown(another.worker)
    assert fingerprint(other.endorsement_key) != fingerprint(own.endorsement_key)
    good = sealed_for(own.endorsement_key, own.name, SECRET)
    for bad in (
        sealed_for(own.endorsement_key, other.name, SECRET),
        sealed_for(other.endorsement_key, own.name, SECRET),
        replace(good, credential=good.credential[:-1] + bytes([good.credential[-1] ^ 1])),
        replace(good, secret=b""),
    ):
        told = await proven(worker, own, bad)
        assert told.tpm is None
        assert "refused with the response code" in told.no_tpm
    # Nothing of these is left in it.
    told = await proven(worker, own, good)
    assert told.tpm is not None


async def test_a_machine_without_a_tpm_says_so(tmp_path: Path) -> None:
    def missing() -> AbstractAsyncContextManager[Transmit]:
        return opened_device(tmp_path / "tpmrm0")

    told = await Tpm(missing).shown_in(opening("ticket"))
    assert (told.tpm, told.no_tpm) == (None, NONE)


async def test_a_tpm_whose_endorsement_hierarchy_has_a_password_is_told_as_unusable(tmp_path: Path) -> None:
    with software_tpm(tmp_path / "tpm") as owned:
        owned.tool("tpm2_changeauth", "-c", "endorsement", "secret")
        told = await owned.worker.shown_in(opening("ticket"))
    assert told.tpm is None
    assert "refused with the response code 0x9a2" in told.no_tpm


async def test_a_tpm_that_gives_no_answer_keeps_no_machine_from_its_work(
    chip: SoftwareTpm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tinkbox.worker.host.tpm.PATIENCE_SECONDS", 0.0)
    told = await chip.worker.shown_in(opening("ticket"))
    assert told.tpm is None
    assert "no answer within" in told.no_tpm
