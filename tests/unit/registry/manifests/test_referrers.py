"""The list of what refers to a manifest, whole and in pages."""

import json
from typing import Any

import pytest

from tinkbox.registry.manifests.manifests import OCI_INDEX, OCI_MANIFEST, Descriptor, Manifest
from tinkbox.registry.manifests.referrers import page_of, referrer, referring, subject_of_tag

CONFIG = Descriptor(digest="sha256:" + "c" * 64, size=2, media_type="application/vnd.example.config", annotations={})


def digest(number: int) -> str:
    return f"sha256:{number:064x}"


def read(content: bytes) -> list[dict[str, Any]]:
    index = json.loads(content)
    assert (index["schemaVersion"], index["mediaType"]) == (2, OCI_INDEX)
    return list(index["manifests"])


@pytest.mark.parametrize(
    ("manifest", "told"),
    [
        (Manifest(media_type=OCI_MANIFEST, blobs=(CONFIG,), artifact_type="a/b"), {"artifactType": "a/b"}),
        (Manifest(media_type=OCI_MANIFEST, blobs=(CONFIG,)), {"artifactType": "application/vnd.example.config"}),
        (Manifest(media_type=OCI_INDEX, artifact_type="a/b"), {"artifactType": "a/b"}),
        (Manifest(media_type=OCI_INDEX), {}),
        (Manifest(media_type=OCI_INDEX, annotations={"a": "b"}), {"annotations": {"a": "b"}}),
    ],
)
def test_a_referrer_tells_its_type_and_annotations(manifest: Manifest, told: dict[str, Any]) -> None:
    """An image without an artifact type has that of its configuration, an index has none."""
    common = {"mediaType": manifest.media_type, "digest": digest(1), "size": 9}
    assert json.loads(referrer(digest(1), 9, manifest).descriptor) == {**common, **told}


IMAGE, MEMBER, OTHER = digest(1), digest(2), digest(3)
AS_TAG = f"sha256-{1:064x}"


@pytest.mark.parametrize(
    ("tag", "subject"),
    [
        (AS_TAG, AS_TAG),
        (f"{AS_TAG}.sig", AS_TAG),
        (f"{AS_TAG}.sbom", AS_TAG),
        (f"sha512-{1:064x}", f"sha512-{1:064x}"),
        (f"{AS_TAG}-x", ""),
        (AS_TAG[:-1], ""),
        ("latest", ""),
        ("", ""),
    ],
)
def test_a_tag_can_say_what_it_refers_to(tag: str, subject: str) -> None:
    assert subject_of_tag(tag) == subject


def test_what_refers_to_an_image_is_found_with_what_refers_to_that() -> None:
    subjects = {
        "countersignature": "signature",
        "signature": IMAGE,
        "of a member": MEMBER,
        "by tag": AS_TAG,
        "of another": OTHER,
        MEMBER: IMAGE,
    }
    found = referring(subjects, [IMAGE, MEMBER])
    assert {*found} == {"signature", "countersignature", "of a member", "by tag"}
    assert referring({"by tag": f"sha512-{'a' * 64}"}, [f"sha512:{'a' * 64}{'b' * 64}"]) == ["by tag"]
    assert referring({}, [IMAGE]) == []


def test_nothing_is_an_empty_index() -> None:
    assert read(page_of([]).content) == []
    assert page_of([]).last == ""


@pytest.mark.parametrize("most", [0, 300, 1000, 5000, 1 << 20])
def test_pages_together_are_the_whole_list_and_no_larger_than_allowed(most: int) -> None:
    listed = [referrer(digest(number), number, Manifest(media_type=OCI_INDEX)) for number in range(30, 0, -1)]
    found, last = [], ""
    for _ in listed:
        page = page_of(listed, last, most)
        part = read(page.content)
        assert len(part) == 1 or len(page.content) <= most
        found += part
        last = page.last
        if not last:
            break
    assert [each["digest"] for each in found] == [digest(number) for number in range(1, 31)]
    assert last == ""
