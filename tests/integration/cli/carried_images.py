"""Images that are carried: those of two appliances, one with everything that an index may have, and a signed one."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.integration.cli.serving import Configuration, Ended, run_here
from tests.integration.registry.serving import configuration, descriptor, digest_of, layer, manifest, tar
from tinkbox.registry.manifests.manifests import DOCKER_MANIFEST, OCI_INDEX, OCI_MANIFEST

Tinkbox = Callable[..., Ended]
SHARED = layer({"shared": b"s" * 300_000})
OWN = layer({"own": b"o" * 1000})


def on(configuration: Configuration) -> Tinkbox:
    def tinkbox(*arguments: str | Path, stdin: bytes = b"") -> Ended:
        try:
            return run_here("--data", str(configuration.data), *map(str, arguments), stdin=stdin)
        except SystemExit as wrong:
            return Ended(int(str(wrong.code)), "", "")

    return tinkbox


def forget(configuration: Configuration) -> None:
    """Forget all images, and that their blobs were promised: the next test's are the same."""
    tinkbox = on(configuration)
    for each in json.loads(tinkbox("image", "list", "-o", "json").out):
        name = f"{each['name']}:{each['tag']}" if each["tag"] else f"{each['name']}@{each['digest']}"
        tinkbox("image", "delete", "--yes", name)


def names(tinkbox: Tinkbox) -> dict[str, str]:
    """The images there, with their digests."""
    listed = json.loads(tinkbox("image", "list", "-o", "json").out)
    return {f"{each['name']}:{each['tag']}": each["digest"] for each in listed if each["tag"]}


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def index_layout(name: str, *architectures: str, lacking: tuple[str, ...] = ()) -> bytes:
    """An OCI layout with an index of images; of those it is `lacking` only the index knows."""
    files: dict[str, bytes] = {}
    entries = []
    for each in (*architectures, *lacking):
        content = layer({"program": each.encode() * 1000})
        config = json.dumps({**json.loads(configuration([content])), "architecture": each}).encode()
        image = manifest(config, [content])
        entries.append({**descriptor(image, DOCKER_MANIFEST), "platform": {"os": "linux", "architecture": each}})
        if each not in lacking:
            files |= {f"blobs/sha256/{digest_of(one)[7:]}": one for one in (content, config, image)}
    index = json.dumps({"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": entries}).encode()
    files[f"blobs/sha256/{digest_of(index)[7:]}"] = index
    top = {**descriptor(index, OCI_INDEX), "annotations": {"org.opencontainers.image.ref.name": name} if name else {}}
    files["index.json"] = json.dumps({"schemaVersion": 2, "manifests": [top]}).encode()
    return tar([("oci-layout", b'{"imageLayoutVersion": "1.0.0"}'), *files.items()])


def artifact(subject: bytes, payload: bytes, *, legacy: bool = False) -> dict[str, bytes]:
    """The blobs of what refers to a manifest, its own manifest last; one that is `legacy` says so by its tag alone."""
    config = b'{"architecture":"","os":"","rootfs":{"type":"layers","diff_ids":[]}}' if legacy else b"{}"
    kind = "application/vnd.oci.image.config.v1+json" if legacy else "application/vnd.oci.empty.v1+json"
    document = {
        "schemaVersion": 2,
        "mediaType": OCI_MANIFEST,
        "config": descriptor(config, kind),
        "layers": [descriptor(payload, "application/vnd.dev.cosign.simplesigning.v1+json")],
    }
    if not legacy:
        document |= {"artifactType": "a/signature", "subject": descriptor(subject, DOCKER_MANIFEST)}
    return {digest_of(each): each for each in (config, payload, json.dumps(document).encode())}


@dataclass(frozen=True)
class Signed:
    """An archive of a signed image: its own digest, and those of what refers to it: by its subject, and one to that."""

    path: Path
    image: str
    signature: str
    countersignature: str
    tag: str


def signed_image(folder: Path) -> Signed:
    """tools/wipe:v1, with a signature, the signature's own, and one by the tag of older cosign; named by no registry's name."""
    config = configuration([OWN])
    image = manifest(config, [OWN])
    signature, legacy = artifact(image, b"signed"), artifact(image, b"legacy", legacy=True)
    counter = artifact([*signature.values()][-1], b"countersigned")
    top = [image, *([*each.values()][-1] for each in (signature, counter, legacy))]
    tag = f"{digest_of(image).replace(':', '-')}.sig"
    names = {0: "tools/wipe:v1", 3: f"tools/wipe:{tag}"}
    entries = [
        {
            **descriptor(each, OCI_MANIFEST if number else DOCKER_MANIFEST),
            "annotations": {"org.opencontainers.image.ref.name": names[number]} if number in names else {},
        }
        for number, each in enumerate(top)
    ]
    blobs = {digest_of(each): each for each in (config, OWN, image)} | signature | counter | legacy
    files = {f"blobs/{digest.replace(':', '/')}": content for digest, content in blobs.items()}
    files["index.json"] = json.dumps({"schemaVersion": 2, "manifests": entries}).encode()
    path = write(folder / "signed.tar", tar([("oci-layout", b'{"imageLayoutVersion": "1.0.0"}'), *files.items()]))
    return Signed(path, *(digest_of(each) for each in top[:3]), tag)


def referring(tinkbox: Tinkbox, name: str) -> set[str]:
    """The digests in a repository that have no tag."""
    listed = json.loads(tinkbox("image", "list", "-o", "json").out)
    return {each["digest"] for each in listed if each["name"] == name and not each["tag"]}
