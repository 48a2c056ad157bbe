"""The names archives give, and what their files mean."""

import gzip
import hashlib
import json
from pathlib import Path

import pytest

from tests.integration.registry.serving import (
    configuration,
    descriptor,
    digest_of,
    docker_archive,
    layer,
    manifest,
    sha512_files,
    sha512_of,
)
from tinkbox.model.errors import Invalid
from tinkbox.registry.archives import layouts
from tinkbox.registry.archives.layouts import local_name, read_images
from tinkbox.registry.archives.oci_index import named, names_of
from tinkbox.registry.blobs.blobs import Staged
from tinkbox.registry.manifests.manifests import DOCKER_MANIFEST, MAX_NESTING, OCI_INDEX, Descriptor, parse_manifest

LAYER = layer({"a": b"1"})


class FakeFiles(dict[str, bytes]):
    """An archive's files in memory; blobs are staged in a folder."""

    folder: Path
    here: dict[str, int]
    extracted: list[str]
    unzipped = 0

    def read(self, name: str, limit: int) -> bytes:
        if name not in self:
            raise Invalid(f"lacks {name}")
        return self[name][:limit]

    def size_here(self, digest: str) -> int | None:
        return self.here.get(digest)

    def unzipped_digest(self, staged: Staged) -> str:
        self.unzipped += 1
        return digest_of(gzip.decompress(staged.path.read_bytes()))

    def extract(self, name: str, algorithm: str = "sha256") -> Staged:
        self.extracted.append(name)
        content = self.read(name, 1 << 30)
        staged = Staged(self.folder / f"{len(self.extracted)}-{hashlib.sha256(name.encode()).hexdigest()}")
        staged.write(content)
        staged.finish()
        return staged


def is_own(host: str) -> bool:
    return host == "box.lab:8080"


@pytest.fixture
def files(tmp_path: Path) -> FakeFiles:
    made = FakeFiles()
    made.folder = tmp_path
    made.extracted = []
    made.here = {}
    return made


@pytest.mark.parametrize(
    ("saved", "kept"),
    [
        ("hello-world:latest", ("hello-world", "latest")),
        ("hello-world", ("hello-world", "latest")),
        ("library/x:1", ("library/x", "1")),
        ("docker.io/library/hello-world:latest", ("docker.io/library/hello-world", "latest")),
        ("docker.io/hello-world", ("docker.io/library/hello-world", "latest")),
        ("index.docker.io/tools/x:1", ("docker.io/tools/x", "1")),
        ("quay.io/tools/wipe:v1", ("quay.io/tools/wipe", "v1")),
        ("Registry.Example/wipe:v1", ("registry.example/wipe", "v1")),
        ("127.0.0.1:5000/wipe:v1", ("127.0.0.1_5000/wipe", "v1")),
        ("localhost/wipe:v1", ("localhost/wipe", "v1")),
        ("box.lab:8080/tools/wipe:v1", ("tools/wipe", "v1")),
        (f"quay.io/x@sha256:{'a' * 64}", ("quay.io/x", "")),
        (f"quay.io/x:v1@sha256:{'a' * 64}", ("quay.io/x", "v1")),
    ],
)
def test_an_image_keeps_its_whole_name_but_for_our_own_host(saved: str, kept: tuple[str, str]) -> None:
    assert local_name(saved, is_own, f"sha256:{'a' * 64}") == kept


@pytest.mark.parametrize("saved", ["", "../x:1", "A:1", f"x@sha256:{'b' * 64}", f"a.b/{'x' * 253}"])
def test_a_name_that_is_none_is_refused(saved: str) -> None:
    with pytest.raises(Invalid):
        local_name(saved, is_own, f"sha256:{'a' * 64}")


def test_a_docker_archive_becomes_a_manifest_of_the_same_bytes(files: FakeFiles) -> None:
    files.update(docker_archive(["x:v1", "y:v2"], [LAYER]))
    first, second = read_images(files, is_own)
    assert [(each.repository, each.tag) for each in (first, second)] == [("x", "v1"), ("y", "v2")]
    assert first.manifests == second.manifests
    (made,) = first.manifests
    parsed = parse_manifest(made.content, made.media_type)
    assert [each.digest for each in parsed.blobs] == [digest_of(configuration([LAYER])), digest_of(LAYER)]
    assert [each.size for each in parsed.blobs] == [len(configuration([LAYER])), len(LAYER)]


@pytest.mark.parametrize("contents", [b"", b"{}", b"[7]", b'[{"Layers": []}]', b'[{"Config": "x", "Layers": 7}]'])
def test_a_damaged_list_of_contents_is_refused(files: FakeFiles, contents: bytes) -> None:
    files["manifest.json"] = contents
    with pytest.raises(Invalid):
        read_images(files, is_own)


def test_an_archive_of_something_else_is_refused(files: FakeFiles) -> None:
    files["etc/passwd"] = b"root"
    with pytest.raises(Invalid, match=r"neither a manifest.json nor an index.json"):
        read_images(files, is_own)


def test_an_archive_without_names_is_refused_with_the_remedy(files: FakeFiles) -> None:
    files.update(docker_archive(["x"], [LAYER]))
    entry = json.loads(files["manifest.json"])[0]
    files["manifest.json"] = json.dumps([{**entry, "RepoTags": None}]).encode()
    with pytest.raises(Invalid, match="docker save NAME:TAG"):
        read_images(files, is_own)


def test_another_configuration_than_its_name_says_is_refused(files: FakeFiles) -> None:
    files.update(docker_archive(["x"], [LAYER]))
    config = next(name for name in files if name.endswith(".json") and name != "manifest.json")
    files[config] += b" "
    with pytest.raises(Invalid, match="not what its name says"):
        read_images(files, is_own)


def test_another_layer_than_the_configuration_says_is_refused(files: FakeFiles) -> None:
    files.update(docker_archive(["x"], [LAYER]))
    name = next(name for name in files if name.endswith("layer.tar"))
    files[name] = layer({"a": b"2"})
    with pytest.raises(Invalid, match="not what the image's configuration says"):
        read_images(files, is_own)


def test_a_layer_too_few_is_refused(files: FakeFiles) -> None:
    files.update(docker_archive(["x"], [LAYER, layer({"b": b"2"})]))
    entry = json.loads(files["manifest.json"])[0]
    files["manifest.json"] = json.dumps([{**entry, "Layers": entry["Layers"][:1]}]).encode()
    with pytest.raises(Invalid, match="has 1 layers, but its configuration says otherwise"):
        read_images(files, is_own)


def oci_files(config: bytes, layers: list[bytes]) -> dict[str, bytes]:
    """An OCI layout with one image, x:1."""
    image = manifest(config, layers)
    entry = {**descriptor(image, DOCKER_MANIFEST), "annotations": {"org.opencontainers.image.ref.name": "x:1"}}
    blobs = {f"blobs/sha256/{digest_of(content)[7:]}": content for content in (image, config, *layers)}
    return {**blobs, "index.json": json.dumps({"schemaVersion": 2, "manifests": [entry]}).encode()}


def test_an_oci_layout_keeps_its_manifest_as_it_is(files: FakeFiles) -> None:
    config = configuration([LAYER])
    files.update(oci_files(config, [LAYER]))
    (image,) = read_images(files, is_own)
    assert (image.repository, image.tag) == ("x", "1")
    assert [(each.content, each.media_type) for each in image.manifests] == [
        (manifest(config, [LAYER]), DOCKER_MANIFEST)
    ]


def test_another_manifest_than_its_digest_says_is_refused(files: FakeFiles) -> None:
    config = configuration([LAYER])
    files.update(oci_files(config, [LAYER]))
    files[f"blobs/sha256/{digest_of(manifest(config, [LAYER]))[7:]}"] = manifest(config, [])
    with pytest.raises(Invalid, match="not what its name says"):
        read_images(files, is_own)


def test_an_oci_layout_may_have_digests_by_sha512(files: FakeFiles) -> None:
    layout, digest = sha512_files(configuration([LAYER]), [LAYER])
    files.update(layout)
    (image,) = read_images(files, is_own)
    assert image.digest == digest
    name = f"blobs/{sha512_of(LAYER).replace(':', '/')}"
    files[name] = layer({"a": b"2"})
    assert len(files[name]) == len(LAYER)
    with pytest.raises(Invalid, match="not what its name says"):
        read_images(files, is_own)
    files[name] = LAYER
    manifest_name = f"blobs/{digest.replace(':', '/')}"
    files[manifest_name] += b" "
    with pytest.raises(Invalid, match="not what its name says"):
        read_images(files, is_own)


def test_indexes_that_never_end_are_refused(files: FakeFiles) -> None:
    content = b"{}"
    for _ in range(MAX_NESTING + 3):
        entry = {**descriptor(content, OCI_INDEX), "annotations": {"org.opencontainers.image.ref.name": "x:1"}}
        content = json.dumps({"schemaVersion": 2, "manifests": [entry]}).encode()
        files[f"blobs/sha256/{digest_of(content)[7:]}"] = content
    files["index.json"] = content
    with pytest.raises(Invalid, match="nested"):
        read_images(files, is_own)


def test_a_member_that_an_archive_lists_often_is_read_once(files: FakeFiles) -> None:
    config = configuration([LAYER])
    files.update(oci_files(config, [LAYER]))
    image = manifest(config, [LAYER])
    inner = json.dumps({"schemaVersion": 2, "manifests": [descriptor(image, DOCKER_MANIFEST)] * 3}).encode()
    entry = {**descriptor(inner, OCI_INDEX), "annotations": {"org.opencontainers.image.ref.name": "x:1"}}
    files[f"blobs/sha256/{digest_of(inner)[7:]}"] = inner
    files["index.json"] = json.dumps({"schemaVersion": 2, "manifests": [entry]}).encode()
    (made,) = read_images(files, is_own)
    assert [(each.content, each.media_type) for each in made.manifests] == [
        (image, DOCKER_MANIFEST),
        (inner, OCI_INDEX),
    ]


def test_a_layer_that_an_image_lists_often_is_decompressed_once(files: FakeFiles) -> None:
    packed = gzip.compress(LAYER)
    files.update(docker_archive(["x:v1"], [packed]))
    (entry,) = json.loads(files["manifest.json"])
    config = configuration([packed] * 3)
    files["config.json"] = config
    files["manifest.json"] = json.dumps([{**entry, "Config": "config.json", "Layers": entry["Layers"] * 3}]).encode()
    (image,) = read_images(files, is_own)
    (made,) = image.manifests
    assert [each.digest for each in parse_manifest(made.content).blobs[1:]] == [digest_of(packed)] * 3
    assert sum(name.endswith("layer.tar") for name in files.extracted) == 1
    assert files.unzipped == 1


def index_files(*members: bytes, there: int) -> dict[str, bytes]:
    """A layout whose only entry, x:1, is an index of these, of which it has the first `there`."""
    listed = [descriptor(each, DOCKER_MANIFEST) for each in members]
    index = json.dumps({"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": listed}).encode()
    entry = {**descriptor(index, OCI_INDEX), "annotations": {"org.opencontainers.image.ref.name": "x:1"}}
    top = json.dumps({"schemaVersion": 2, "manifests": [entry]}).encode()
    return {
        "index.json": top,
        **{f"blobs/sha256/{digest_of(each)[7:]}": each for each in (index, *members[:there])},
    }


def test_an_index_may_list_images_that_an_archive_lacks_but_not_all(files: FakeFiles) -> None:
    config = configuration([LAYER])
    first, second = manifest(config, [LAYER]), manifest(config, [LAYER, LAYER])
    files.update({**oci_files(config, [LAYER]), **index_files(first, second, there=1)})
    (image,) = read_images(files, is_own)
    assert len(image.manifests) == 2
    assert image.manifests[0].content == first
    files.update(index_files(second, b"{}", there=0))
    with pytest.raises(Invalid, match="nothing is there of what its index"):
        read_images(files, is_own)


def test_a_blob_that_is_here_need_not_be_in_an_archive(files: FakeFiles) -> None:
    config = configuration([LAYER])
    files.update(oci_files(config, [LAYER]))
    del files[f"blobs/sha256/{digest_of(LAYER)[7:]}"]
    files.here = {digest_of(LAYER): len(LAYER)}
    assert len(read_images(files, is_own)) == 1
    files.here = {digest_of(LAYER): len(LAYER) + 1}
    with pytest.raises(Invalid, match=f"has {len(LAYER) + 1} bytes"):
        read_images(files, is_own)
    files.here = {}
    with pytest.raises(Invalid, match="lacks"):
        read_images(files, is_own)


def test_a_layer_to_fetch_from_elsewhere_need_not_be_in_an_archive(files: FakeFiles) -> None:
    config, elsewhere = configuration([LAYER]), layer({"b": b"2"})
    body = json.loads(manifest(config, [LAYER, elsewhere]))
    body["layers"][1]["urls"] = ["https://x.example/layer"]
    image = json.dumps(body).encode()
    entry = {**descriptor(image, DOCKER_MANIFEST), "annotations": {"org.opencontainers.image.ref.name": "x:1"}}
    files.update({f"blobs/sha256/{digest_of(each)[7:]}": each for each in (image, config, LAYER)})
    files["index.json"] = json.dumps({"schemaVersion": 2, "manifests": [entry]}).encode()
    assert len(read_images(files, is_own)) == 1


def both_layouts(annotations: dict[str, str], names: list[str]) -> dict[str, bytes]:
    """What newer Dockers write: an image in both layouts."""
    config = configuration([LAYER])
    image = manifest(config, [LAYER])
    entry = {**descriptor(image, DOCKER_MANIFEST), "annotations": annotations}
    blobs = {f"blobs/sha256/{digest_of(each)[7:]}": each for each in (image, config, LAYER)}
    _, config_name, layer_name = blobs
    docker = [{"Config": config_name, "RepoTags": names, "Layers": [layer_name]}]
    return {
        **blobs,
        "index.json": json.dumps({"schemaVersion": 2, "manifests": [entry]}).encode(),
        "manifest.json": json.dumps(docker).encode(),
    }


@pytest.mark.parametrize(
    ("whole", "tagged", "kept"),
    [
        ("docker.io/library/alpine:3", "alpine:3", "alpine"),
        ("docker.io/library/alpine:3", "docker.io/library/alpine:3", "docker.io/library/alpine"),
        ("docker.io/tools/alpine:3", "tools/alpine:3", "tools/alpine"),
        ("quay.io/tools/alpine:3", "quay.io/tools/alpine:3", "quay.io/tools/alpine"),
    ],
)
def test_an_archive_with_both_layouts_keeps_digests_and_the_names_that_people_know(
    files: FakeFiles, whole: str, tagged: str, kept: str
) -> None:
    annotations = {"io.containerd.image.name": whole, "org.opencontainers.image.ref.name": "3"}
    files.update(both_layouts(annotations, [tagged]))
    (image,) = read_images(files, is_own)
    assert (image.repository, image.tag) == (kept, "3")
    assert image.manifests[0].content == manifest(configuration([LAYER]), [LAYER])


def test_the_names_of_signatures_do_not_count_towards_those_that_people_gave(
    files: FakeFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layouts, "MAX_NAMES", 1)
    image = manifest(configuration([LAYER]), [LAYER])
    files.update(both_layouts({}, []))
    signed = f"x:{digest_of(image).replace(':', '-')}"
    for others, many in (([f"{signed}.sig", f"{signed}.att"], 0), (["x:2"], 2)):
        entries = [
            {**descriptor(image, DOCKER_MANIFEST), "annotations": {"org.opencontainers.image.ref.name": each}}
            for each in ("x:1", *others)
        ]
        files["index.json"] = json.dumps({"schemaVersion": 2, "manifests": entries}).encode()
        if many:
            with pytest.raises(Invalid, match=f"gives {many} names to images: at most 1 are taken"):
                read_images(files, is_own)
        else:
            assert "x:1" in [each.name for each in read_images(files, is_own)]


def test_an_image_that_is_named_by_its_digest_has_no_tag(files: FakeFiles) -> None:
    digest = digest_of(manifest(configuration([LAYER]), [LAYER]))
    files.update(both_layouts({"org.opencontainers.image.ref.name": f"quay.io/x@{digest}"}, []))
    (image,) = read_images(files, is_own)
    assert (image.tag, image.selector, image.name) == ("", digest, f"quay.io/x@{digest}")


def test_a_name_that_docker_alone_has_is_not_lost(files: FakeFiles) -> None:
    files.update(both_layouts({"org.opencontainers.image.ref.name": "one:v1"}, ["one:v1", "two:v2"]))
    assert [each.repository for each in read_images(files, is_own)] == ["one", "two"]


@pytest.mark.parametrize(
    ("annotations", "names", "renamed"),
    [
        ({"org.opencontainers.image.ref.name": "v1"}, [], "tools/x:v1"),
        ({"org.opencontainers.image.ref.name": "alpine:3"}, ["alpine:3"], "tools/x"),
        ({"org.opencontainers.image.ref.name": "tools/wipe"}, ["tools/wipe"], "tools/x"),
        ({"org.opencontainers.image.ref.name": "no tag"}, [], "tools/x"),
        ({"org.opencontainers.image.ref.name": "3", "io.containerd.image.name": "a.b/c:3"}, ["a.b/c:3"], "tools/x"),
        ({}, [], "tools/x"),
    ],
)
def test_a_tag_alone_names_no_image_but_completes_a_name(
    annotations: dict[str, str], names: list[str], renamed: str
) -> None:
    entry = Descriptor(digest=f"sha256:{'a' * 64}", size=1, media_type="x/y", annotations=annotations)
    assert names_of(entry) == names
    assert named("tools/x", entry) == renamed
    assert named("tools/x:2", entry) == "tools/x:2"
