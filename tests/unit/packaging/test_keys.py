"""Gathering the keys that publishers sign with."""

import hashlib
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

PACKAGING = Path(__file__).parents[3] / "packaging"
sys.path.insert(0, str(PACKAGING))

import keys  # noqa: E402  (the line above makes it importable)

from tests.unit.catalogue.openpgp_samples import OLD  # noqa: E402

FINGERPRINT = "A2FFC914AAF693C3B48E6AA6E8D0699AA6B162F9"


@pytest.fixture
def package(tmp_path: Path) -> keys.Package:
    """A package with a key, as it lies on a mirror."""
    root = tmp_path / "root"
    for name, content in {
        "DEBIAN/control": b"Package: lab-keys\nVersion: 1\nArchitecture: all\nMaintainer: x\nDescription: x\n",
        "usr/share/doc/lab-keys/copyright": b"CC0\n",
        "usr/share/keyrings/lab.asc": OLD,
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    (root / "DEBIAN").chmod(0o755)  # whatever the umask is
    mirror = tmp_path / "mirror" / "pool/main/l/lab-keys"
    mirror.mkdir(parents=True)
    subprocess.run(
        ["dpkg-deb", "--build", "-Znone", root, mirror / "lab-keys_1_all.deb"], check=True, capture_output=True
    )
    digest = hashlib.sha256((mirror / "lab-keys_1_all.deb").read_bytes()).hexdigest()
    return keys.Package(
        name="lab-keys",
        file="lab-keys_1_all.deb",
        sha256=digest,
        folder="usr/share/keyrings",
        keys=(("lab.asc", FINGERPRINT),),
    )


def test_a_wanted_key_is_laid_out_with_its_licence(
    package: keys.Package, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keys, "MIRRORS", (tmp_path.joinpath("nowhere").as_uri(), tmp_path.joinpath("mirror").as_uri()))
    output = tmp_path / "keys"
    output.mkdir()
    keys.take(keys.cached(package, tmp_path), package, output)
    assert sorted(path.name for path in output.iterdir()) == [f"{FINGERPRINT}.asc", "LICENCE.lab-keys"]
    monkeypatch.setattr(keys, "MIRRORS", ())
    assert keys.cached(package, tmp_path) == tmp_path / "lab-keys_1_all.deb"
    with pytest.raises(LookupError, match=f"lab.asc has no key {'0' * 40}"):
        keys.take(keys.cached(package, tmp_path), replace(package, keys=(("lab.asc", "0" * 40),)), output)


def test_another_file_of_that_name_is_not_taken(
    package: keys.Package, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keys, "MIRRORS", (tmp_path.joinpath("mirror").as_uri(),))
    with pytest.raises(LookupError, match="another file of that name"):
        keys.cached(replace(package, sha256="0" * 64), tmp_path)
