"""The bills of materials beside the executable and the OSIE have what is really in them: nothing less, and nothing more."""

import hashlib
import json
import marshal
import sys
from collections.abc import Iterator, Mapping
from importlib import metadata
from typing import Any

import pytest

from tests.machine.lab import built
from tinkbox.osie.elf import section

PAGE = 4096
LONGEST_INDEX = 1 << 22


@pytest.fixture(scope="module")
def carried() -> tuple[dict[str, Any], dict[str, bytes]]:
    """The modules of the executable by name, with their kind first, and the content of its libraries and data by place."""
    content = section(built("dist/tinkbox").read_bytes(), ".rodata")
    for begin in range(0, len(content), PAGE):
        length = int.from_bytes(content[begin : begin + 8], "little")
        if 0 < length < LONGEST_INDEX and content[begin + 8 : begin + 9] in (b"(", b")"):
            modules, libraries, _, data = marshal.loads(content[begin + 8 : begin + 8 + length])
            rest = content[begin + 8 + length :]
            return modules, {name: rest[first:end] for name, (first, end) in {**libraries, **data}.items()}
    raise AssertionError("the executable has no index of what it carries")


@pytest.fixture(scope="module")
def bill() -> dict[str, Any]:
    return bill_of("dist/tinkbox.cdx.json")


def bill_of(path: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(built(path).read_text())
    return document


def every(components: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """These components, and what they are made of."""
    for each in components:
        yield each
        yield from every(each.get("components", []))


def packages(bill: Mapping[str, Any], kind: str) -> set[str]:
    """The names of the packages of this kind, as purls have it."""
    return {each["name"] for each in every(bill["components"]) if each.get("purl", "").startswith(f"pkg:{kind}/")}


def test_every_python_package_in_the_executable_is_in_its_bill_and_no_other(carried, bill) -> None:
    modules, _ = carried
    strange = {name.partition(".")[0] for name in modules} - set(sys.stdlib_module_names) - {"tinkbox"}
    owners = metadata.packages_distributions()
    strange = {name for name in strange if not name.startswith(("_sysconfigdata", "_bootsubprocess"))}
    wanted = {owners[name][0] for name in strange}
    found = {each["name"] for each in bill["components"] if each.get("purl", "").startswith("pkg:pypi/")}
    assert found == wanted
    assert {each["name"]: each["version"] for each in bill["components"] if each["name"] in wanted} == {
        name: metadata.version(name) for name in wanted
    }


def test_every_library_and_every_foreign_file_is_in_the_bill_by_its_digest(carried, bill) -> None:
    _, content = carried
    ours = ("LICENSE", "tinkbox/", ".dist-info/")
    foreign = ("tinkbox/boot/loaders/", "tinkbox/catalogue/keys/", "tinkbox/worker/tools/")
    texts = ("LICENCE.", "signed.versions", "applets")
    wanted = {
        hashlib.sha256(piece).hexdigest(): place
        for place, piece in content.items()
        if (place.startswith(foreign) and not place.rpartition("/")[2].startswith(texts))
        or not (place.startswith(ours[:2]) or ours[2] in place)
    }
    told = {each["hashes"][0]["content"] for each in every(bill["components"]) if "hashes" in each}
    assert not {wanted[digest] for digest in wanted.keys() - told}


def test_every_file_of_the_bill_is_in_the_executable(carried, bill) -> None:
    modules, content = carried
    places = {*content, *(place for _, place, *_ in modules.values())}
    files = {each["name"] for each in every(bill["components"]) if each["type"] == "file"}
    assert files
    assert files <= places


@pytest.mark.parametrize("path", ["dist/tinkbox.cdx.json", "build/osie/x86_64/osie.cdx.json"])
def test_every_package_has_a_version_and_a_licence(path: str) -> None:
    packaged = [
        each for each in every(bill_of(path)["components"]) if each.get("purl", "").startswith(("pkg:deb", "pkg:pypi"))
    ]
    assert packaged
    assert not [each["name"] for each in packaged if not each.get("licenses") or not each.get("version")]


def test_the_bill_names_the_executable_by_its_digest(bill) -> None:
    digest = hashlib.sha256(built("dist/tinkbox").read_bytes()).hexdigest()
    assert bill["metadata"]["component"]["hashes"] == [{"alg": "SHA-256", "content": digest}]


def test_the_executable_carries_its_bill_for_the_osies_that_it_builds(carried, bill) -> None:
    _, content = carried
    own = json.loads(content["tinkbox/osie/tinkbox.cdx.json"])
    assert own["components"] == bill["components"]


def test_what_is_linked_into_others_is_in_the_bill_within_them(bill) -> None:
    inside = {(each["name"], part["name"]) for each in bill["components"] for part in every(each.get("components", []))}
    linked = {("aiohttp", "llhttp"), ("shim-signed", "openssl"), ("bcrypt", "blowfish"), ("google-re2", "abseil-cpp")}
    assert linked <= inside


def test_python_and_the_libraries_of_the_distribution_are_in_the_bill(bill) -> None:
    names = {each["name"] for each in bill["components"]}
    assert {"python", "busybox-static", "entrypoint", "zlib1g-dev", "libexpat1-dev", "ipxe", "shim-signed"} <= names
    assert any(name.startswith("libssl3") for name in packages(bill, "deb"))


def test_the_osies_bill_has_its_packages_the_worker_and_the_files_themselves() -> None:
    document = bill_of("build/osie/x86_64/osie.cdx.json")
    folder = built("build/osie/x86_64")
    description = json.loads((folder / "osie.json").read_text())
    files = {each["name"]: each["hashes"][0]["content"] for each in document["metadata"]["component"]["components"]}
    assert files == {name: file["sha256"] for name, file in description["files"].items()}
    top = {each["name"]: each for each in document["components"]}
    known = description["packages"]
    assert {name: top[name]["version"] for name in top.keys() & known.keys()} == {
        name: known[name] for name in top.keys() & known.keys()
    }
    assert top.keys() - known.keys() == {"tinkbox"}
    assert {"busybox-static", "docker.io", "containerd", "runc", "ca-certificates", "libc6"} <= top.keys()
    assert plain(top["tinkbox"]["components"]) == plain(bill_of("dist/tinkbox.cdx.json")["components"])


def plain(value: object) -> object:
    """Without the references, which are each document's own."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items() if key != "bom-ref"}
    return [plain(each) for each in value] if isinstance(value, list) else value


def test_the_osies_bill_has_one_kernel_and_the_packages_of_its_firmware() -> None:
    kinds = [each["type"] for each in bill_of("build/osie/x86_64/osie.cdx.json")["components"]]
    assert kinds.count("operating-system") == 1
    assert kinds.count("firmware") >= 1
