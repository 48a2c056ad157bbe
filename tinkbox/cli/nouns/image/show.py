"""`tinkbox image show`."""

import argparse
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from tinkbox.cli.flags import Verbs, add_listing, add_verb
from tinkbox.cli.output.changes import show_each
from tinkbox.cli.output.formats import Column, Document, fields, for_people, names_one, show
from tinkbox.cli.output.printable import moment
from tinkbox.model.errors import Conflict, Invalid, NotFound
from tinkbox.model.images.system_image import LATEST, Compression, Format, Verified
from tinkbox.model.key_kinds import KeyKind
from tinkbox.model.sizes import show_size

if TYPE_CHECKING:
    from tinkbox.client.operator import Operator

PROOFS: Mapping[str, str] = {
    Verified.SIGNED: "signed",
    Verified.SUMS: "checksum over HTTPS",
    Verified.TYPED: "digest given",
    Verified.NONE: "not verified",
}
FORMATS: Mapping[str, str] = {
    Format.RAW: "raw disk",
    Format.QCOW2: "qcow2 disk",
    Format.TAR: "tar of a root file system",
}
KEPT: Sequence[Column] = (
    Column("Image", "id"),
    Column("Version", lambda image: image["config"]["version"]),
    Column("Architecture", lambda image: image["config"]["architecture"]),
    Column("Disk", lambda image: image["config"]["raw"]["size"]),
    Column("Size", "size"),
    Column("Verified", lambda image: image["config"]["source"]["verified"]),
    Column("Digest", "digest", wide=True),
    Column("Problem", lambda image: image.get("problem", ""), wide=True),
)


def declare(verbs: "Verbs[argparse.ArgumentParser]") -> None:
    verb = add_listing(add_verb(verbs, "show", show_kept, "a system image that is here"))
    verb.add_argument(
        "keys",
        metavar=KeyKind.SYSTEM_IMAGE,
        nargs="+",
        help="its id, which is the newest, or one version: debian-13:20261101",
    )


def show_kept(chosen: argparse.Namespace) -> int:
    kept: Sequence[Document] = ()

    async def one(operator: "Operator", key: str) -> Document:
        nonlocal kept
        kept = kept or await operator.images.systems()
        try:
            return _kept_one(kept, key)
        except NotFound:
            try:
                return await operator.images.system_image(key)  # a damaged one is not listed, nor is one without a tag
            except NotFound:
                pass
            except Invalid:
                with suppress(NotFound, Invalid):
                    found = await operator.images.described(key)
                    raise Conflict(
                        f"{found['reference']} is a container image, which actions run from, and no system image: "
                        "`tinkbox image list -o wide` shows what is known of it"
                    ) from None
            raise

    return show_each(chosen, one, lambda found: _show_images(chosen, found))


def _show_images(chosen: argparse.Namespace, found: Sequence[Document]) -> None:
    if for_people(chosen):
        for image in found:
            print(fields(chosen, _kept_fields(image)), end="")
    else:
        show(chosen, found, KEPT, key="id", one=names_one(chosen))


def latest_of(kept: Sequence[Document]) -> Mapping[str, Document]:
    """By id, the image that `latest` is."""
    return {image["id"]: image for image in kept if LATEST in image["tags"]}


def _kept_one(kept: Sequence[Document], key: str) -> Document:
    name, _, version = key.partition(":")
    for image in kept:
        if image["id"] == name and (version or LATEST) in image["tags"]:
            return image
    # By tag, which is what one chooses by: an image can lack the tag of its version.
    here = ", ".join(f"{image['id']}:{tag}" for image in kept for tag in image["tags"]) or "none"
    raise NotFound(f"no system image {key} here; there are: {here}")


def _format_of(source: Document) -> str:
    """What the source file is, and how it is compressed."""
    named = FORMATS.get(source["format"], source["format"])
    return named if source["compression"] == Compression.NONE else f"{named}, {source['compression']}"


def _kept_fields(image: Document) -> Sequence[tuple[str, object]]:
    config = image["config"]
    source, raw = config["source"], config["raw"]
    pairs = [
        ("Image", f"{image['id']}:{config['version']}"),
        ("Problem", image.get("problem", "")),  # an earlier appliance does not tell
        ("Title", config["title"]),
        ("Architecture", config["architecture"]),
        ("Firmware", ", ".join(config["firmware"])),
        ("Default User", config["default_user"]),
        ("Data Source", config["data_source"]),
        ("Growth", config["growth"]),
        ("Least Disk", show_size(config["least_disk"])),
        ("Disk", f"{show_size(raw['size'])} ({raw['digest']})"),
        ("Kept", f"{show_size(image['size'])} ({image['digest']})"),
        ("Source", source.get("url") or source.get("file", "")),
        ("Source Format", _format_of(source)),
        ("Source Digest", source["digest"]),
        ("Source Size", show_size(source["size"])),
        ("Verified", PROOFS[source["verified"]]),
        ("Signer", source["signer"]),
        ("Kept Since", moment(image["pushed_at"])),
        ("Tags", ", ".join(image["tags"])),
        ("Licence", config["licence"]),
    ]
    return [(name, value) for name, value in pairs if value]
