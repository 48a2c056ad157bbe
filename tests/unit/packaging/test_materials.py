"""Where each piece of the executable comes from, and what becomes of one of which nobody knows: packaging/onefile/materials.py."""

import json
import sys
from importlib import metadata
from pathlib import Path
from types import CodeType

import multidict._multidict
import pytest
import yaml

from tests.unit.packaging.test_onefile import ONEFILE, pack
from tinkbox.wire.cyclonedx import Component

ROOT = ONEFILE.parents[1]
materials = sys.modules["materials"]
Piece = materials.Piece
EXTENSION = Path(str(multidict._multidict.__file__))
STANDARD = Path(json.__file__)


def found(*pieces: object) -> dict[str, Component]:
    return {each.name: each for each in materials.components(pieces, [])}


def test_a_module_is_a_part_of_the_python_package_that_it_was_installed_with() -> None:
    made = found(Piece("multidict/_multidict.so", EXTENSION, b"code"))["multidict"]
    assert (made.version, made.purl) == (
        metadata.version("multidict"),
        f"pkg:pypi/multidict@{metadata.version('multidict')}",
    )
    assert made.licences == ("Apache-2.0",)
    assert [(part.kind, part.name, part.sha256) for part in made.parts] == [
        ("file", "multidict/_multidict.so", "5694d08a2e53ffcae0c3103e5ad6f6076abd960eb1f8a56577040bc1028f702b")
    ]


def test_a_package_tells_the_c_library_that_it_has_in_itself() -> None:
    made = found(Piece("yaml/__init__.py", Path(yaml.__file__), b"", is_file=False))["PyYAML"]
    assert [part.name for part in made.parts] == ["libyaml"]


def test_a_package_names_what_its_sources_have_of_others() -> None:
    import aiohttp

    made = found(Piece("aiohttp/__init__.py", Path(aiohttp.__file__), b"", is_file=False))["aiohttp"]
    (llhttp,) = made.parts
    assert (llhttp.name, llhttp.version, llhttp.purl) == ("llhttp", "", "")
    assert llhttp.properties == {
        "tinkbox:version": f"not told: the one that the sources of aiohttp {made.version} have"
    }


def test_a_library_without_a_bill_tells_the_crates_and_the_libraries_that_its_code_names() -> None:
    code = (
        b"\0/root/.cargo/registry/src/index.crates.io-1949c/bcrypt-pbkdf-0.10.0/src/lib.rs\0_ZN4absl12lts_202505123log"
    )
    parts = found(Piece("multidict/_multidict.so", EXTENSION, code))["multidict"].parts
    assert [(part.name, part.version, part.purl) for part in parts if part.kind == "library"] == [
        ("abseil-cpp", "20250512", "pkg:generic/abseil-cpp@20250512"),
        ("bcrypt-pbkdf", "0.10.0", "pkg:cargo/bcrypt-pbkdf@0.10.0"),
    ]


def test_a_package_brings_the_bill_that_it_was_published_with() -> None:
    cryptography = Path(str(metadata.distribution("cryptography").locate_file("cryptography/__init__.py")))
    made = found(Piece("cryptography/__init__.py", cryptography, b"", is_file=False))["cryptography"]
    assert "openssl" in {part.name for part in made.parts}


def test_our_own_modules_are_no_parts_and_pythons_are_pythons() -> None:
    ours = Piece("tinkbox/app.py", ROOT / "tinkbox/app.py", b"", is_file=False)
    assert found(ours, Piece("json/__init__.py", STANDARD, b"", is_file=False)).keys() == {"python"}


def test_a_piece_from_nowhere_ends_the_build(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"no package that is installed has .*odd\.so, which libodd is made of"):
        found(Piece("libodd", tmp_path / "odd.so", b""))


def test_a_loader_that_nobody_knows_ends_the_build() -> None:
    place = "tinkbox/boot/loaders/strange.bin"
    with pytest.raises(SystemExit, match=r"nobody knows where tinkbox/boot/loaders/strange\.bin comes from"):
        found(Piece(place, ROOT / place, b"x"))


def test_a_signed_loader_has_the_version_that_is_noted_beside_it() -> None:
    folder = "tinkbox/boot/loaders"
    pieces = [
        Piece(f"{folder}/{name}", ROOT / folder / name, content)
        for name, content in {
            "shimx64.efi": b"shim\0ASN.1 part of OpenSSL 1.0.2k  26 Jan 2017\0EVP part of OpenSSL 1.0.2k  26 Jan 2017",
            "signed.versions": b"shim-signed 1.51\n",
            "LICENCE.shimx64": b"Format: x\nLicense: BSD-2-clause\n",
        }.items()
    ]
    shim = found(*pieces)["shim-signed"]
    assert (shim.version, shim.licences) == ("1.51", ("BSD-2-Clause",))
    assert [(part.name, part.version) for part in shim.parts] == [
        ("tinkbox/boot/loaders/shimx64.efi", ""),
        ("openssl", "1.0.2k"),
    ]


def test_the_time_of_a_bill_is_that_of_the_sources() -> None:
    document = json.loads(materials.bill([], "1764504000", b"program"))
    assert document["metadata"]["timestamp"] == "2025-11-30T12:00:00Z"
    assert document["metadata"]["component"]["hashes"]
    assert "timestamp" not in json.loads(materials.bill([], ""))["metadata"]


def test_code_is_written_the_same_whoever_else_refers_to_it() -> None:
    text = "def cross(river, *, ferry='slow'):\n    return {'river': river, 'ferry': ferry} if river in {'a', 'b', 'c'} else None"
    one = pack.stable(compile(text, "ferry.py", "exec", dont_inherit=True))
    code = compile(text, "ferry.py", "exec", dont_inherit=True)
    inner = [each for each in code.co_consts if isinstance(each, CodeType)]
    holding = [code.co_consts, code.co_names, *((each.co_varnames, each.co_consts, *each.co_consts) for each in inner)]
    assert pack.stable(code) == one
    assert holding


def test_a_tool_of_an_older_package_ends_the_build_with_the_line_to_type() -> None:
    place = "tinkbox/worker/tools/busybox"
    with pytest.raises(SystemExit, match=r"`rm -r tinkbox/worker/tools/ && make helper` makes it anew"):
        found(Piece(place, ROOT / place, b"of before"))
