"""What an `index.json` says of its images."""

import json
from dataclasses import replace

import pytest

from tests.integration.registry.serving import configuration, descriptor, digest_of, layer, manifest
from tinkbox.registry.archives.oci_index import (
    MANIFESTS_NAME,
    REF_NAME,
    Listing,
    counts_as_name,
    listing_of,
    tag_of,
    written_with,
)
from tinkbox.registry.manifests.manifests import DOCKER_MANIFEST, OCI_INDEX, OCI_MANIFEST, Descriptor

LAYER = layer({"a": b"1"})
IMAGE = manifest(configuration([LAYER]), [LAYER])
INDEX = json.dumps(
    {"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": [descriptor(IMAGE, DOCKER_MANIFEST)]}
).encode()


def signature(subject: bytes, number: int = 1) -> bytes:
    config = descriptor(b"{}", "application/vnd.oci.empty.v1+json")
    described = descriptor(subject, DOCKER_MANIFEST)
    document = {
        "schemaVersion": 2,
        "config": config,
        "layers": [],
        "subject": described,
        "annotations": {"n": str(number)},
    }
    return json.dumps(document).encode()


def entry(content: bytes, name: str = "", media_type: str = OCI_MANIFEST) -> Descriptor:
    annotations = {REF_NAME: name} if name else {}
    return Descriptor(digest=digest_of(content), size=len(content), media_type=media_type, annotations=annotations)


def listing(entries: dict[bytes, Descriptor]) -> Listing:
    contents = {digest_of(each): each for each in entries}
    return listing_of([*entries.values()], lambda listed: contents.get(listed.digest, b""))


def images(entries: dict[bytes, Descriptor]) -> list[Descriptor]:
    found = listing(entries)
    return [each for each in found.entries if found.is_image(each)]


def test_what_refers_to_an_image_of_an_index_is_no_image_of_its_own() -> None:
    index, first, second = entry(INDEX, "x:1", OCI_INDEX), signature(IMAGE), signature(INDEX)
    counter = signature(first)
    entries = {INDEX: index, first: entry(first), second: entry(second), counter: entry(counter)}
    assert images(entries) == [index]
    found = listing(entries).referring([digest_of(INDEX), digest_of(IMAGE)])
    assert {each.digest for each in found} == {digest_of(each) for each in (first, second, counter)}
    assert listing(entries).referring([digest_of(INDEX)]) == [entries[second]]


def test_what_refers_to_something_elsewhere_is_an_image() -> None:
    first = signature(b"elsewhere")
    counter = signature(first)
    assert images({first: entry(first), counter: entry(counter)}) == [entry(first)]


@pytest.mark.parametrize("name", ["x:1-signature", "other:v1"])
def test_what_has_a_name_of_its_own_is_an_image_as_well(name: str) -> None:
    signed = signature(IMAGE)
    named = {IMAGE: entry(IMAGE, "x:1", DOCKER_MANIFEST), signed: entry(signed, name)}
    assert images(named) == [*named.values()]
    assert listing(named).referring([digest_of(IMAGE)]) == [named[signed]]


def test_a_tag_of_older_cosign_refers_to_an_image() -> None:
    tag = f"{digest_of(IMAGE).replace(':', '-')}.sig"
    plain = manifest(configuration([]), [])
    for name in (tag, f"quay.io/x:{tag}"):
        entries = {IMAGE: entry(IMAGE, "x:1", DOCKER_MANIFEST), plain: entry(plain, name, DOCKER_MANIFEST)}
        assert tag_of(entries[plain]) == tag
        assert images(entries) == [entries[IMAGE]]
        assert listing(entries).referring([digest_of(IMAGE)]) == [entries[plain]]


def test_an_entry_that_is_listed_often_is_read_once() -> None:
    read: list[str] = []

    def reading(listed: Descriptor) -> bytes:
        read.append(listed.digest)
        return IMAGE

    listing_of([entry(IMAGE, f"x:{number}", DOCKER_MANIFEST) for number in range(5)], reading)
    assert read == [digest_of(IMAGE)]


@pytest.mark.parametrize(("told", "number"), [("3", 3), ("", 0), ("-3", 0), ("³", 0), ("9" * 5000, 0)])
def test_how_many_manifests_a_writer_had_is_a_number_or_is_not_told(told: str, number: int) -> None:
    described = entry(INDEX, "x:1", OCI_INDEX)
    assert written_with(replace(described, annotations={MANIFESTS_NAME: told})) == number
    assert written_with(described) == 0


def test_a_tag_that_says_what_it_refers_to_is_no_name_that_people_gave() -> None:
    assert counts_as_name("x:v1")
    assert counts_as_name(f"x@{digest_of(IMAGE)}")
    assert not counts_as_name(f"x:{digest_of(IMAGE).replace(':', '-')}.sig")
    assert counts_as_name("no name")
