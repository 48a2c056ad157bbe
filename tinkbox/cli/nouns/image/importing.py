"""`tinkbox image import`."""

import argparse
import sys
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tinkbox.cli.connection import ask, stay_connected
from tinkbox.cli.flags import Verbs, add_verb, folder
from tinkbox.cli.interruptions.breaking_off import ended_in_order
from tinkbox.model.errors import Conflict, Invalid, NotFound

if TYPE_CHECKING:
    from tinkbox.cli.output.formats import Document
    from tinkbox.client.operator import Operator
    from tinkbox.model.images.system_image import About

SCRATCH = "/var/tmp"  # noqa: S108  a folder of its own is made there; /tmp may be memory
# One for all commands that pack images: each removes what another one left.
SCRATCH_PREFIX: Final = "tinkbox-image-"
_ARCHIVE = "image.tar"


def declare(verbs: "Verbs[argparse.ArgumentParser]") -> None:
    from tinkbox.model.images.system_image import USUAL_MAX_DISK, Architecture, DataSource, Growth
    from tinkbox.model.sizes import show_size

    verb = add_verb(
        verbs,
        "import",
        import_image,
        "import the disk image or the root file system of an operating system",
        "A disk image is raw or qcow2.  Of the tar of a root file system a disk is made that boots from BIOS and UEFI; the tar needs\n"
        "a kernel with its ramdisk in /boot.  Each may be compressed by gzip, xz, bzip2 or zstd.",
    )
    verb.add_argument("file", metavar="FILE", type=Path)
    verb.add_argument("--id", required=True, metavar="NAME", help="what to call it, such as lab-debian")
    verb.add_argument("--title", default="", help="its title for people (default: its id)")
    verb.add_argument("--version", default="", help="its version (default: today, such as 20261101)")
    verb.add_argument("--digest", default="", metavar="sha256:…", help="digest that the file must have; sha512 as well")
    verb.add_argument("--default-user", default="", metavar="USER", help="the user that people log in as")
    verb.add_argument(
        "--data-source",
        choices=list(map(str, DataSource)),
        default=str(DataSource.NOCLOUD),
        help="where the installed system looks for its settings (default nocloud)",
    )
    verb.add_argument(
        "--growth",
        choices=list(map(str, Growth)),
        help="what makes its root file system as large as the disk (default: cloud-init with nocloud and ec2)",
    )
    verb.add_argument(
        "--architecture",
        choices=list(map(str, Architecture)),
        default=str(Architecture.X86_64),
        help="processor that it runs on (default x86_64)",
    )
    verb.add_argument(
        "--max-size",
        type=_size,
        default=USUAL_MAX_DISK,
        metavar="SIZE",
        help=f"largest disk that it may be (default {show_size(USUAL_MAX_DISK)})",
    )
    verb.add_argument(
        "--scratch",
        type=folder,
        default=Path(SCRATCH),
        metavar="DIR",
        help=f"folder for what lies on the disk meanwhile (default {SCRATCH})",
    )


def import_image(chosen: argparse.Namespace) -> None:
    from tinkbox.boot.http.loaders import load_disk_loaders
    from tinkbox.cli.output.printable import clean
    from tinkbox.cli.output.progress_line import ProgressLine
    from tinkbox.cli.wording.image_progress import packing
    from tinkbox.system_images.packing import check_names, described, pack
    from tinkbox.system_images.room import require_folder, scratch_folder

    about = _about(chosen, "0")
    check_names(about)
    require_folder(chosen.scratch)
    require_file(chosen.file, "name the file of a disk image, or the tar of a root file system")
    # Asked first: who cannot reach the appliance need not wait for minutes to hear it.
    about = _about(chosen, _version(chosen, ask(chosen, lambda operator: operator.images.all())))
    with ended_in_order(), scratch_folder(chosen.scratch, SCRATCH_PREFIX) as place:
        archive = place / _ARCHIVE
        with closing(ProgressLine(packing)) as progress:
            image = pack(
                chosen.file,
                about,
                archive,
                scratch=place,
                said=progress,
                max_disk=chosen.max_size,
                loaders=load_disk_loaders,
            )

        async def loaded(operator: "Operator") -> None:
            await operator.images.load(archive)

        stay_connected(chosen, loaded)
    for warning in image.warnings:
        print(clean(f"tinkbox: warning: {chosen.file.name}: {warning}"), file=sys.stderr)
    print(f"Imported {described(image)}")


def _about(chosen: argparse.Namespace, version: str) -> "About":
    from tinkbox.model.images.system_image import About, Architecture, DataSource, Growth, Source, Verified

    source = DataSource(chosen.data_source)
    grows = source in (DataSource.NOCLOUD, DataSource.EC2)
    return About(
        id=chosen.id,
        version=chosen.version or version,
        title=chosen.title,
        architecture=Architecture(chosen.architecture),
        data_source=source,
        growth=Growth(chosen.growth) if chosen.growth else Growth.CLOUD_INIT if grows else Growth.NONE,
        default_user=chosen.default_user,
        source=Source(
            file=chosen.file.name,
            digest=chosen.digest.lower(),
            verified=Verified.TYPED if chosen.digest else Verified.NONE,
        ),
    )


def now() -> datetime:
    """The time here, of which the day is a version."""
    return datetime.now(UTC)


def _version(chosen: argparse.Namespace, images: "Sequence[Document]") -> str:
    """The version to import as.  Raises Conflict where that, or the id, is another image's."""
    here = [image for image in images if image["name"] == chosen.id]
    if any(image.get("kind") == "container" for image in here):
        raise Conflict(f"{chosen.id} is a container image here: import the system image under another `--id`")
    tags = {image["tag"] for image in here}
    if chosen.version in tags:
        raise Conflict(
            f"{chosen.id}:{chosen.version} is here already: choose another `--version`, "
            f"or delete it first with `tinkbox image delete {chosen.id}:{chosen.version}`"
        )
    today = f"{now():%Y%m%d}"
    return next(name for number in count() if (name := f"{today}.{number}" if number else today) not in tags)


def require_file(path: Path, way_out: str) -> None:
    """Raise NotFound where a path leads to no file with a content, which says what it leads to."""
    if path.is_dir():
        raise NotFound(f"{path} is a folder: {way_out}")
    if not path.exists():
        raise NotFound(f"no file {path}: {way_out}")
    if not path.is_file():
        raise NotFound(f"{path} is no regular file: {way_out}")


def _size(text: str) -> int:
    from tinkbox.model.sizes import parse_size

    try:
        return parse_size(text)
    except Invalid as error:
        raise argparse.ArgumentTypeError(str(error)) from None
