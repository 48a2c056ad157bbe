"""The section `tls`."""

from pathlib import Path

import pytest

from tests.unit.settings.configured import loaded, problems_of
from tinkbox.settings.environment import authority_key


def test_own_certificate_is_two_files(tmp_path: Path) -> None:
    found = loaded(tmp_path, "tls: {certificate: /etc/ssl/box.pem, key: /etc/ssl/box.key}").tls
    assert found.own == (Path("/etc/ssl/box.pem"), Path("/etc/ssl/box.key"))


def test_box_has_a_certificate_of_its_own_by_default(tmp_path: Path) -> None:
    assert loaded(tmp_path, "").tls.own is None


@pytest.mark.parametrize(("there", "missing"), [("certificate", "key"), ("key", "certificate")])
def test_one_of_both_files_alone_is_refused(tmp_path: Path, there: str, missing: str) -> None:
    (problem,) = problems_of(tmp_path, f"tls: {{{there}: /etc/ssl/box.pem}}")
    assert f"tls.{missing}" in problem
    assert f"tls.{there} needs it: name both files, or none" in problem


def test_key_of_the_authority_may_be_a_credential_of_systemd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CREDENTIALS_DIRECTORY", raising=False)
    assert authority_key() is None
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    assert authority_key() is None
    (tmp_path / "tinkbox-authority-key").touch()
    assert authority_key() == tmp_path / "tinkbox-authority-key"
