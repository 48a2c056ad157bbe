"""Manifests and indexes are read strictly, and never crash the reader."""

import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkbox.model.errors import Invalid
from tinkbox.model.images.system_image import ARTIFACT_TYPE
from tinkbox.registry.manifests.kinds import Kind, kind_of
from tinkbox.registry.manifests.manifests import (
    MAX_LISTED,
    MAX_MANIFEST,
    MAX_NESTING,
    Descriptor,
    Manifest,
    nested,
    parse_manifest,
    reachable,
)

DOCKER = "application/vnd.docker.distribution.manifest.v2+json"
OCI = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
A, B, C = ("sha256:" + letter * 64 for letter in "abc")


def image(**changes: Any) -> dict[str, Any]:
    document = {
        "schemaVersion": 2,
        "mediaType": DOCKER,
        "config": {"digest": A, "size": 1, "mediaType": "application/vnd.docker.container.image.v1+json"},
        "layers": [{"digest": B, "size": 2}, {"digest": C, "size": 3}],
        **changes,
    }
    return {key: value for key, value in document.items() if value is not None}


def parsed(document: object, content_type: str = "") -> Manifest:
    return parse_manifest(json.dumps(document).encode(), content_type)


def test_an_image_refers_to_its_configuration_and_layers() -> None:
    manifest = parsed(image())
    assert (manifest.media_type, [each.digest for each in manifest.blobs]) == (DOCKER, [A, B, C])
    assert manifest.manifests == ()
    assert manifest.digests == {A, B, C}


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({}, Kind.CONTAINER),
        ({"config": {"digest": A, "size": 1, "mediaType": "application/vnd.oci.image.config.v1+json"}}, Kind.CONTAINER),
        ({"config": {"digest": A, "size": 1, "mediaType": "application/vnd.cncf.helm.config.v1+json"}}, Kind.ARTIFACT),
        ({"artifactType": "application/x"}, Kind.ARTIFACT),
        ({"artifactType": ARTIFACT_TYPE}, Kind.SYSTEM),
    ],
)
def test_an_artifact_is_what_its_configuration_is_unless_it_tells(changes: dict[str, Any], kind: Kind) -> None:
    assert kind_of(parsed(image(**changes))) is kind


def test_an_index_refers_to_manifests() -> None:
    manifest = parsed({"schemaVersion": 2, "mediaType": INDEX, "manifests": [{"digest": A, "size": 7}]})
    assert (manifest.media_type, [each.digest for each in manifest.manifests]) == (INDEX, [A])
    assert manifest.blobs == ()


def test_a_foreign_layer_need_not_be_here() -> None:
    layers = [{"digest": B, "size": 2, "urls": ["https://elsewhere/"]}, {"digest": C, "size": 3}]
    found = parsed(image(layers=layers))
    assert [each.digest for each in found.blobs] == [A, C]
    assert found.digests == {A, B, C}, "or what was pushed of it would be collected"


@pytest.mark.parametrize(
    "media_type",
    [
        "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip",
        "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip",
    ],
)
def test_a_layer_that_is_foreign_by_its_type_need_not_be_here(media_type: str) -> None:
    found = parsed(image(layers=[{"digest": B, "size": 2, "mediaType": media_type}]))
    assert ([each.digest for each in found.blobs], [each.digest for each in found.foreign]) == ([A], [B])


@pytest.mark.parametrize(
    ("written", "told", "understood"),
    [
        (DOCKER, DOCKER, DOCKER),
        (DOCKER, "application/json", DOCKER),
        (DOCKER, "application/octet-stream", DOCKER),
        (None, f"{OCI}; charset=utf-8", OCI),
        (None, "", OCI),
    ],
)
def test_the_media_type_is_what_the_bearer_or_the_manifest_says(written: str, told: str, understood: str) -> None:
    assert parsed(image(mediaType=written), told).media_type == understood


@pytest.mark.parametrize(
    ("document", "told", "reason"),
    [
        ([], "", "not a JSON object"),
        (image(schemaVersion=1), "", "schemaVersion"),
        (image(manifests=[]), "", "image and an index at once"),
        ({**image(layers=None), "manifests": []}, INDEX, "image and an index at once"),
        (image(), OCI, "contradictory media type"),
        (image(mediaType="text/html"), "text/html", "unsupported"),
        (image(mediaType=7), "", "unsupported"),
        (image(config=None), "", "config is not an object"),
        (image(layers=None), "", "layers is not a list"),
        (image(layers=[7]), "", r"layers\[0\] is not an object"),
        (image(layers=[{"digest": "sha256:12", "size": 1}]), "", r"layers\[0\] has no sha256 or sha512 digest"),
        (image(layers=[{"digest": A + "\n", "size": 1}]), "", "no sha256 or sha512 digest"),
        (image(layers=[{"digest": ["x"], "size": 1}]), "", "no sha256 or sha512 digest"),
        (image(layers=[{"digest": A, "size": -1}]), "", "no size"),
        (image(layers=[{"digest": A, "size": True}]), "", "no size"),
        (image(layers=[{"digest": A}]), "", "no size"),
        (image(layers=[{"digest": A, "size": 1, "mediaType": 7}]), "", r"layers\[0\] has a mediaType that is no text"),
        (
            image(layers=[{"digest": A, "size": 1, "annotations": {"a": 7}}]),
            "",
            r"annotations of the manifest's layers",
        ),
        (image(annotations={"a": 7}), "", "the manifest's annotations are not an object of texts"),
        (image(annotations=["a"]), "", "the manifest's annotations are not an object of texts"),
        (image(subject="x"), "", "subject is not an object"),
        (image(subject={"digest": "sha256:12", "size": 1}), "", "subject has no sha256 or sha512 digest"),
    ],
)
def test_what_is_no_manifest_is_refused_with_the_reason(document: object, told: str, reason: str) -> None:
    with pytest.raises(Invalid, match=reason):
        parsed(document, told)


def test_a_subject_and_annotations_are_taken() -> None:
    written = image(annotations={"a": "b"}, subject={"digest": "sha256:" + "d" * 64, "size": 1})
    assert (parsed(written).subject, parsed(written).annotations) == ("sha256:" + "d" * 64, {"a": "b"})
    assert parsed(written).digests == parsed(image()).digests, "what it describes need not be here"
    assert parsed({**image(), "annotations": None, "subject": None}) == parsed(image())


def test_an_index_tells_its_artifact_type_and_subject() -> None:
    subject = {"digest": B, "size": 1}
    written = {"schemaVersion": 2, "mediaType": INDEX, "manifests": [], "artifactType": "a/b", "subject": subject}
    assert (parsed(written).artifact_type, parsed(written).subject) == ("a/b", B)


def test_a_sha512_digest_is_one() -> None:
    digest = "sha512:" + "e" * 128
    assert parsed(image(layers=[{"digest": digest, "size": 1}])).digests == {A, digest}


def test_layers_of_a_cache_that_an_index_lists_are_its_content() -> None:
    """As BuildKit writes its caches: the layers and the configuration stand where images would."""
    layer, config = "application/vnd.oci.image.layer.v1.tar+gzip", "application/vnd.buildkit.cacheconfig.v0"
    listed = [
        {"digest": A, "size": 1, "mediaType": layer},
        {"digest": B, "size": 2, "mediaType": config},
        {"digest": C, "size": 3, "mediaType": OCI},
    ]
    found = parsed({"schemaVersion": 2, "mediaType": INDEX, "manifests": listed})
    assert [each.digest for each in found.content] == [A, B]
    assert (found.members, found.digests) == ({A, B, C}, {A, B, C})


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32", "utf-16-le"])
def test_a_manifest_in_another_encoding_than_utf_8_is_refused(encoding: str) -> None:
    with pytest.raises(Invalid, match="not JSON in UTF-8 without a byte order mark"):
        parse_manifest(json.dumps(image()).encode(encoding))


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[" * 100_000, b'{"a":' * 100_000])
def test_what_is_no_json_is_refused(content: bytes) -> None:
    with pytest.raises(Invalid, match="JSON"):
        parse_manifest(content)


def test_a_manifest_beyond_the_limit_is_refused_unread() -> None:
    with pytest.raises(Invalid, match=str(MAX_MANIFEST)):
        parse_manifest(b" " * (MAX_MANIFEST + 1))


def listing(*digests: str) -> Manifest:
    return Manifest(
        media_type=INDEX, manifests=tuple(Descriptor(digest=each, size=1, annotations={}) for each in digests)
    )


def ladder(rungs: int) -> dict[str, Manifest]:
    """Manifests by name: "1" is an image, and each of the others lists the one before it twice."""
    return {"1": Manifest(media_type=OCI)} | {str(rung): listing(*[str(rung - 1)] * 2) for rung in range(2, rungs + 1)}


def walked(found: dict[str, Manifest], top: Iterable[str]) -> tuple[list[str], list[str]]:
    """The digests in the order in which they are given, and in which they were read."""
    asked: list[str] = []

    def read(entry: Descriptor) -> Manifest:
        asked.append(entry.digest)
        return found[entry.digest]

    return list(nested(listing(*top).manifests, read)), asked


def test_a_manifest_lists_no_more_than_can_be_read_while_others_wait() -> None:
    def index(number: int) -> Manifest:
        return parsed({"schemaVersion": 2, "mediaType": INDEX, "manifests": [{"digest": A, "size": 7}] * number})

    assert len(index(MAX_LISTED).manifests) == MAX_LISTED
    with pytest.raises(Invalid, match=f"{MAX_LISTED + 1} manifests: at most {MAX_LISTED}"):
        index(MAX_LISTED + 1)


def test_a_manifest_that_is_listed_twice_is_read_once() -> None:
    given, asked = walked(ladder(MAX_NESTING), [str(MAX_NESTING)] * 2)
    assert given == sorted(ladder(MAX_NESTING))
    assert sorted(asked) == given


def test_a_manifest_comes_before_all_that_list_it() -> None:
    found = {"image": Manifest(media_type=OCI), "inner": listing("image"), "outer": listing("image", "inner")}
    given, asked = walked(found, ["image", "inner", "outer"])
    assert given == ["image", "inner", "outer"]
    assert sorted(asked) == given


def test_indexes_that_are_nested_too_deep_are_refused() -> None:
    found = ladder(MAX_NESTING + 1)
    with pytest.raises(Invalid, match="nested too deep: at most 8 levels"):
        walked(found, [str(MAX_NESTING + 1)])


def test_what_a_digest_leads_to_is_found_however_deep_it_is() -> None:
    found = ladder(5000)
    assert sorted(reachable("5000", found)) == sorted(found)
    assert reachable("elsewhere", found) == {}


scraps = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from([A, DOCKER, INDEX]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["digest", "size", "urls"]), inner),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from([*image(), "manifests"]), scraps), st.sampled_from(["", DOCKER, INDEX, "x"]))
def test_a_valid_manifest_with_anything_in_it_is_read_or_refused(changes: dict[str, Any], told: str) -> None:
    """Nothing but Invalid ever comes out of the parser."""
    try:
        manifest = parsed({**image(), **changes}, told)
    except Invalid:
        return
    assert all(digest.startswith(("sha256:", "sha512:")) for digest in manifest.digests)
