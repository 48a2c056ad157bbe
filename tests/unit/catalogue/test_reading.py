"""The catalogue's YAML: what an entry becomes, and everything that is wrong with one."""

from datetime import date
from pathlib import Path

import pytest

from tinkbox.catalogue.entries import Fixed, Listing, Signature, Signed, Stream, Sums
from tinkbox.catalogue.layers import built_in
from tinkbox.catalogue.openpgp import load_keys
from tinkbox.catalogue.reading import read_catalogue
from tinkbox.model.errors import Invalid
from tinkbox.model.images.system_image import Architecture, Compression, DataSource, Firmware, Format, Growth

KEY = "0123456789ABCDEF0123456789ABCDEF01234567"
ENTRY = """
serial: 7
images:
  lab-1:
    title: Lab 1
    architectures:
      x86_64: {arch: amd64}
      aarch64: {arch: arm64}
    resolver:
      kind: listing
      page: https://lab.example/1/
      newest: '"v(?P<version>[0-9]{8})-{arch}/"'
      file: https://lab.example/1/{version}/lab-{arch}.qcow2
      sums: https://lab.example/1/{version}/SHA256SUMS
    signature:
      of: sums
      url: "{sums}.asc"
      keys: ["0123 4567 89ab cdef 0123  4567 89AB CDEF 0123 4567"]
    format: qcow2
    compression: xz
    firmware: [bios, uefi]
    least_disk: 4GiB
    data_source: ec2
    growth: none
    default_user: lab
    licence: free
    note: careful
    end_of_life: 2030-06-30
    checked: true
"""


def test_an_entry_is_one_image_for_each_architecture() -> None:
    file = read_catalogue(ENTRY, "mine")
    assert (file.serial, list(file.entries)) == (7, ["lab-1", "lab-1-aarch64"])
    one, other = file.entries.values()
    assert (one.title, one.architecture, one.firmware) == (
        "Lab 1",
        Architecture.X86_64,
        (Firmware.BIOS, Firmware.UEFI),
    )
    assert (other.architecture, other.firmware) == (Architecture.AARCH64, (Firmware.UEFI,))
    assert other.resolver == Listing(
        page="https://lab.example/1/",
        newest='"v(?P<version>[0-9]{8})-arm64/"',
        file="https://lab.example/1/{version}/lab-arm64.qcow2",
        version="{version}",
        sums="https://lab.example/1/{version}/SHA256SUMS",
    )
    assert one.signature == Signature(of=Signed.SUMS, keys=(KEY,), url="{sums}.asc")
    assert (one.format, one.compression, one.least_disk) == (Format.QCOW2, Compression.XZ, 4 << 30)
    assert (one.data_source, one.growth, one.default_user) == (DataSource.EC2, Growth.NONE, "lab")
    assert (one.licence, one.note, one.end_of_life) == ("free", "careful", date(2030, 6, 30))
    assert (one.checked, one.layer, one.proof) == (True, "mine", "signed")


def entry_with(resolver: str, more: str = "") -> str:
    return f"images: {{x: {{title: X, architectures: {{x86_64: {{}}}}, least_disk: 1GiB, resolver: {resolver}{more}}}}}"


def test_the_other_resolvers_are_read() -> None:
    sums = "{kind: sums, sums: https://x.example/SUMS, file: 'x-(?P<version>[0-9]+)'}"
    stream = "{kind: stream, page: https://x.example/s, version: [a], file: [b, c.d], digest: [e]}"
    fixed = f"{{kind: fixed, file: 'https://x.example/{{version}}.raw', version: '1', digest: sha256:{'a' * 64}}}"
    found = [read_catalogue(entry_with(each), "m").entries["x"] for each in (sums, stream, fixed)]
    assert [(each.resolver, each.proof) for each in found] == [
        (Sums(sums="https://x.example/SUMS", file="x-(?P<version>[0-9]+)", version="{version}"), "sums"),
        (Stream(page="https://x.example/s", version=("a",), file=("b", "c.d"), digest=("e",)), "sums"),
        (Fixed(file="https://x.example/1.raw", version="1", digest=f"sha256:{'a' * 64}"), "typed"),
    ]


SUMS = "{kind: sums, sums: https://x.example/S, file: x}"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("images: {X_: {}}", "images.X_: an id has small letters"),
        ("image: {}", "unknown key image; did you mean images?"),
        ("[]", "expected keys with values: serial, images"),
        ("serial: -1\nimages: {}", "expected the catalogue's serial as a whole number"),
        ("images: {x: {title: X}}", "architectures is missing"),
        (entry_with(SUMS, ", titel: Y"), "images.x.titel: unknown key titel; did you mean title?"),
        (entry_with(SUMS, ", format: qcow"), "'qcow' is none of raw, qcow2, tar; did you mean qcow2?"),
        (entry_with(SUMS, ", firmware: []"), "expected a list of bios, uefi"),
        (entry_with(SUMS, ", firmware: [efi]"), "did you mean uefi?"),
        (entry_with(SUMS, ", end_of_life: soon"), "expected a day such as 2028-06-30, not 'soon'"),
        (entry_with(SUMS, ', default_user: "a b;$(id)"'), "expected the name of a user, of up to 32 letters"),
        (entry_with(SUMS, ", checked: maybe"), "expected true or false"),
        (entry_with(SUMS, ', note: "a\\e[2Jb"'), "expected one line of at most"),
        (entry_with(SUMS).replace("1GiB", "much"), "'much' is no size"),
        (entry_with(SUMS).replace("x86_64", "amd64"), "unknown key amd64"),
        (entry_with("{kind: sum}"), "no kind of resolver 'sum'; did you mean sums?"),
        (entry_with("https://x.example/x"), "expected `kind`, one of sums, listing, stream, fixed"),
        (entry_with("{kind: sums, sums: https://x.example/S}"), "file is missing"),
        (entry_with("{kind: sums, sums: ftp://x.example/S, file: x}"), "expected a URL that begins with https://"),
        (entry_with("{kind: sums, sums: https://x.example/S, file: '('}"), "this is no regular expression"),
        (entry_with("{kind: sums, sums: 'https://x.example/{vers}', file: x}"), "{vers} stands for nothing here"),
        (entry_with("{kind: listing, page: https://x.example/, newest: x, file: https://x.example/y}"), "no group"),
        (
            entry_with("{kind: stream, page: https://x.example/, version: [], file: [a], digest: [b]}"),
            "a list of the keys",
        ),
        (entry_with("{kind: fixed, file: https://x.example/y, version: a/b}"), "a version has letters"),
        (entry_with("{kind: fixed, file: https://x.example/y, version: a, digest: md5:0}"), "expected sha256:"),
        (
            entry_with(SUMS, ", signature: {of: sums, keys: [ABC], url: '{sums}.asc'}"),
            "expected the whole fingerprints",
        ),
        (entry_with(SUMS, f", signature: {{of: sums, keys: [{KEY}]}}"), "a signature of sums has a url"),
        (entry_with(SUMS, f", signature: {{of: inside-sums, keys: [{KEY}], url: '{{sums}}'}}"), "has no url"),
        (entry_with(SUMS, f", signature: {{of: sums, keys: [{KEY}], url: '{{sum}}.asc'}}"), "did you mean sums?"),
        (
            entry_with(
                "{kind: fixed, file: https://x.example/y, version: a}",
                f", signature: {{of: sums, keys: [{KEY}], url: '{{sums}}.asc'}}",
            ),
            "no file of checksums that could be signed",
        ),
        ("images: {x: {}, x: {}}", "key x is given twice"),
        (
            ENTRY + "  lab-1-aarch64:" + ENTRY.partition("  lab-1:")[2],
            "is another entry's image of another architecture",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_key(text: str, problem: str) -> None:
    with pytest.raises(Invalid, match=r"^the catalogue mine has \d+ problems?$") as refused:
        read_catalogue(text, "mine")
    assert any(problem in str(each) for each in refused.value.problems), refused.value.problems
    assert all(each.line for each in refused.value.problems)


def test_all_problems_are_told_once() -> None:
    text = ENTRY.replace("title:", "titel:").replace("4GiB", "4 disks").replace("kind: listing", "kind: list")
    with pytest.raises(Invalid) as refused:
        read_catalogue(text, "mine")
    assert [each.line for each in refused.value.problems] == [5, 5, 22, 10]


@pytest.mark.parametrize("text", ["{", "a: b: c", "", "a: 1\n---\nb: 2", "x: " + "[" * 5000, " " * (2 << 20)])
def test_what_is_no_such_file_is_refused(text: str) -> None:
    with pytest.raises(Invalid, match=r"^the catalogue mine "):
        read_catalogue(text, "mine")


def test_the_built_in_catalogue_has_what_people_ask_for() -> None:
    entries = built_in().entries
    expected = {"debian-13", "ubuntu-26.04", "rocky-10", "alma-10", "fedora-44", "flatcar", "talos", "arch"}
    assert expected <= set(entries)
    assert "debian-13-aarch64" in entries
    for entry in entries.values():
        assert entry.licence, entry.id
        assert entry.least_disk, entry.id
        places = [getattr(entry.resolver, name, "") for name in ("page", "sums", "file")]
        assert all(place.startswith(("https://", "{")) for place in places if ":" in place and "(" not in place)


def test_every_key_of_the_built_in_catalogue_is_in_the_program() -> None:
    wanted = {key for each in built_in().entries.values() if each.signature for key in each.signature.keys}
    assert wanted
    for key in load_keys(sorted(wanted)):
        assert not key.revoked, key
    there = {path.stem for path in Path("tinkbox/catalogue/keys").glob("*.asc")}
    assert there == wanted, "packaging/keys.py gathers other keys than the entries name: make keys"
