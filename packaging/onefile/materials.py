"""What the executable of one file is made of: its bill of materials in CycloneDX, from what was really laid into it (`pack.py`).

Each piece is asked where it comes from: a Python package that is installed, a Debian package that is installed, one that
boot loaders, keys and tools were taken out of, or this project.  A piece of which that is not known ends the build, so the
bill has everything.  It is the same for the same pieces; no clock and no chance come into it.
"""

import hashlib
import importlib.metadata
import platform
import re
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import ipxe
import keys

from tinkbox import __version__
from tinkbox.osie.debian import of_this_release
from tinkbox.osie.elf import needed
from tinkbox.osie.sbom import debian_package
from tinkbox.wire.cyclonedx import Component, package_url, read, written

ROOT = Path(__file__).resolve().parent.parent.parent
# The folders of what others made, which lies below this project only for the build; all else there is ours.
LOADERS, KEYS, TOOLS = "tinkbox/boot/loaders/", "tinkbox/catalogue/keys/", "tinkbox/worker/tools/"
# The package that each loader of the distribution was taken out of, and its licence (../loaders.py); the versions lie beside them.
VERSIONS = f"{LOADERS}signed.versions"
OF_PACKAGES = {
    "shimx64.efi": ("shim-signed", "LICENCE.shimx64"),
    "grubx64.efi": ("grub-efi-amd64-signed", "LICENCE.grubx64"),
    "grub-bios-core.img": ("grub-pc-bin", "LICENCE.grub-bios"),
    "grub-bios-boot.img": ("grub-pc-bin", "LICENCE.grub-bios"),
}
FIELDS = ("Package", "Version", "Architecture", "Source", "Maintainer", "Built-Using", "Static-Built-Using")
# What the compiler links into every program.
OF_THE_COMPILER = ("crt1.o", "libgcc.a", "libc_nonshared.a")
# Rust's compiler names the files of crates, for panics (of a registry: FOLDER/NAME-VERSION/src/…).
CRATE = re.compile(rb"/registry/src/[^/\0]+/([a-z0-9_-]+?)-(\d+\.\d+\.\d+[A-Za-z0-9.+-]*)/")
# What other parts say of themselves in the bytes of whatever has them inside: OpenSSL's modules, Abseil's names of its release.
SAYING = (
    ("openssl", "OpenSSL", re.compile(rb" part of OpenSSL (\d+\.\d+\.\d+[a-z]*) ")),
    ("abseil-cpp", "Apache-2.0", re.compile(rb"4absl\d+lts_(\d{8})")),
)
# The licences of what a package has in its sources of others, a folder for each.
VENDORED = ".dist-info/licenses/vendor/"
# As authors of Python packages call licences, where they do not use SPDX's words.
CALLED = {
    "Apache 2.0": "Apache-2.0", "Apache Software License": "Apache-2.0", "ISC License (ISCL)": "ISC", "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0", "Python Software Foundation License": "PSF-2.0",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Piece:
    """Something that is carried: its place in the executable, the file it was made of, and its bytes.

    `is_file` is whether these are a file that somebody else made: a library, a program, data.
    """

    place: str
    source: Path
    content: bytes
    is_file: bool = True

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()

    @property
    def component(self) -> Component:
        return Component(kind="file", name=self.place, sha256=self.sha256)


def bill(components: Sequence[Component], epoch: str, program: bytes | None = None) -> str:
    """The document; `epoch` is SOURCE_DATE_EPOCH, in seconds or empty, and `program` the executable where it is there already."""
    subject = Component(
        kind="application",
        name="tinkbox",
        version=__version__,
        purl=package_url("generic", "tinkbox", __version__),
        licences=("Apache-2.0",),
        sha256="" if program is None else hashlib.sha256(program).hexdigest(),
    )
    moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(epoch))) if epoch else ""
    return written(subject, components, moment)


def components(pieces: Sequence[Piece], linked: Sequence[Path]) -> list[Component]:
    """What all pieces are made of, and what was linked into the program besides.  Ends the program where that is not known."""
    distributions, ours, taken, others = owners(), [], [], []
    found: dict[str, list[Piece]] = {}
    for piece in pieces:
        if name := distributions.get(piece.source.resolve()):
            found.setdefault(name, []).append(piece)
        elif piece.place.startswith((LOADERS, KEYS, TOOLS)):
            taken.append(piece)
        elif piece.source.is_relative_to(ROOT) and not piece.source.is_relative_to(Path(sys.prefix)):
            ours.append(piece)
        else:
            others.append(piece)
    made = [distribution(importlib.metadata.distribution(name), own, inside_of(name)) for name, own in found.items()]
    made += of_others(taken)
    return merged([*made, *of_this_host(others, linked)])


@cache
def owners() -> Mapping[Path, str]:
    """Which Python package a file is of."""
    found = {}
    for each in importlib.metadata.distributions():
        folder = Path(str(each.locate_file(""))).resolve()
        found |= {folder / file: each.metadata["Name"] for file in each.files or ()}
    return found


def distribution(
    found: importlib.metadata.Distribution, pieces: Iterable[Piece], inside: Iterable[Component] = ()
) -> Component:
    """A Python package: its libraries, what it says itself that they are made of (PEP 770), and what is `inside` besides."""
    told = [Path(str(file.locate())) for file in found.files or () if ".dist-info/sboms/" in str(file)]
    own = tuple(part for path in sorted(told) if path.suffix == ".json" for part in read(path.read_text()))
    pieces = sorted(pieces, key=lambda each: each.place)
    seen = [part for piece in pieces if piece.is_file for part in told_inside(piece.content, crates=not own)]
    whole = hashlib.sha256(b"".join(bytes.fromhex(piece.sha256) for piece in pieces)).hexdigest()
    files = (piece.component for piece in pieces if piece.is_file and ".dist-info/" not in piece.place)
    name = found.metadata["Name"]
    return Component(
        kind="library",
        name=name,
        version=found.version,
        purl=package_url("pypi", re.sub(r"[-_.]+", "-", name).lower(), found.version),
        licences=(licence(found.metadata),),
        parts=(*own, *inside, *vendored(found), *merged(seen), *files),
        properties={"tinkbox:carried": str(len(pieces)), "tinkbox:carried:sha256": whole},
    )


def inside_of(name: str) -> Iterator[Component]:
    """What a package says when it is asked, not in its files: C libraries that its extension modules have in themselves."""
    match name:
        case "zstandard":
            import zstandard

            yield bundled("zstd", ".".join(map(str, zstandard.ZSTD_VERSION)), "BSD-3-Clause")
        case "PyYAML":
            from yaml import _yaml

            yield bundled("libyaml", _yaml.get_version_string(), "MIT")


def told_inside(content: bytes, *, crates: bool = False) -> Iterator[Component]:
    """The parts of others whose versions stand in a library or a boot loader; crates of Rust as far as its code names them."""
    for name, of, saying in SAYING:
        for version in sorted(set(saying.findall(content))):
            yield bundled(name, version.decode(), of)
    for crate, version in sorted(set(CRATE.findall(content)) if crates else ()):
        name, told = crate.decode(), version.decode()
        yield Component(kind="library", name=name, version=told, purl=package_url("cargo", name, told))


def vendored(found: importlib.metadata.Distribution) -> Iterator[Component]:
    """What a package has in its sources of others, by the licences that it brings; which versions, it does not tell."""
    places = (str(file).partition(VENDORED)[2].partition("/") for file in found.files or ())
    for name in sorted({name for name, _, rest in places if name and rest}):
        where = f"{found.metadata['Name']} {found.version}"
        yield Component(
            kind="library",
            name=name,
            licences=(f"as in {where}",),
            properties={"tinkbox:version": f"not told: the one that the sources of {where} have"},
        )


def bundled(name: str, version: str, of: str) -> Component:
    return Component(
        kind="library", name=name, version=version, purl=package_url("generic", name, version), licences=(of,)
    )


def licence(metadata: "importlib.metadata.PackageMetadata") -> str:
    """What the package says, in SPDX's words where it can be known."""
    told = metadata.get_all("License-Expression") or metadata.get_all("License") or [""]
    kinds = [
        each.rpartition(" :: ")[2] for each in metadata.get_all("Classifier") or () if each.startswith("License ::")
    ]
    text = told[0].strip() if "\n" not in told[0].strip() else ""
    name = text or next(iter(kinds), "")
    if not name:
        sys.exit(
            f"the package {metadata['Name']} names no licence: look at its files, and say it in {Path(__file__).name}"
        )
    return CALLED.get(name, name)


def of_others(pieces: Sequence[Piece]) -> Iterator[Component]:
    """Boot loaders, keys and tools, each as a part of the package that it was taken out of."""
    content = {piece.place: piece.content for piece in pieces}
    for piece in pieces:
        folder, _, name = piece.place.rpartition("/")
        if name.startswith("LICENCE.") or piece.place in (VERSIONS, f"{TOOLS}applets"):
            continue
        texts = {place.rpartition("/")[2]: text for place, text in content.items() if place.startswith(f"{folder}/")}
        if f"{folder}/" == LOADERS:
            yield loader(piece, name, texts)
        elif f"{folder}/" == KEYS:
            file = key_package(name)
            yield pinned(file, texts[f"LICENCE.{file.partition('_')[0]}"], piece)
        else:
            yield tool(piece, name, texts)


def loader(piece: Piece, name: str, texts: Mapping[str, bytes]) -> Component:
    """A boot loader; `texts` are the files beside it, by name."""
    if name in OF_PACKAGES:
        package, licence_file = OF_PACKAGES[name]
        versions = dict(line.split() for line in texts[Path(VERSIONS).name].decode().splitlines())
        fields = {"Package": package, "Version": versions[package], "Architecture": "amd64"}
        text = texts[licence_file].decode(errors="replace")
        inside = tuple(told_inside(piece.content))
        return debian_package(fields, text, of_this_release(), files=[piece.component, *inside])
    if same(piece, Path("/usr/lib/ipxe", name)):
        return installed("ipxe", [piece])
    if name.endswith((".kpxe", ".efi")):
        text = texts.get(f"LICENCE.{Path(name).stem}") or texts["LICENCE.ipxe"]
        return pinned(ipxe.PACKAGE, text, piece)
    sys.exit(f"nobody knows where {piece.place} comes from: say it in {Path(__file__).name}")


def tool(piece: Piece, name: str, texts: Mapping[str, bytes]) -> Component:
    """What the worker puts into containers; `texts` are the files beside it, by name."""
    if name == "busybox" and same(piece, Path("/bin/busybox")):
        return installed("busybox-static", [piece])
    text = texts.get("LICENCE.libc", b"").decode(errors="replace")
    libraries = [each for each in ("musl-dev", "libc6-dev") if text and text == copyright_text(each)]
    if name == "entrypoint" and libraries:
        return Component(
            kind="application",
            name="entrypoint",
            version=__version__,
            licences=("Apache-2.0",),
            parts=[piece.component, installed(libraries[0], [])],
        )
    sys.exit(
        f"{piece.place} is of no package that is installed here, perhaps of an older one: `rm -r {TOOLS} && make helper` makes it anew"
    )


def same(piece: Piece, path: Path) -> bool:
    return path.is_file() and path.read_bytes() == piece.content


def key_package(name: str) -> str:
    """The package's file that a key was taken out of (../keys.py)."""
    for package in keys.WANTED:
        if name.partition(".")[0] in [fingerprint for _, fingerprint in package.keys]:
            return package.file
    sys.exit(f"no package of {Path(keys.__file__).name} has the key {name}: `make keys` gathers them anew")


def pinned(file: str, text: bytes, piece: Piece) -> Component:
    """A package that is not installed, by its file's name."""
    name, version, architecture = file.removesuffix(".deb").split("_")
    fields = {"Package": name, "Version": version.replace("%3a", ":"), "Architecture": architecture}
    return debian_package(fields, text.decode(errors="replace"), files=[piece.component])


def of_this_host(pieces: Sequence[Piece], linked: Sequence[Path]) -> list[Component]:
    """Python, and what else comes from packages that are installed here."""
    standard = Path(sysconfig.get_path("stdlib"))
    python, packages = [], []
    of = owning([*(piece.source for piece in pieces), *linked])
    mine: dict[str, list[Piece]] = {of[path]: [] for path in linked if path in of}
    pythons = {of[path] for path in linked if path in of and path.name.startswith("libpython")}
    for piece in pieces:
        inside = piece.source.is_relative_to(standard)
        if piece.source in of:
            mine.setdefault(of[piece.source], []).append(piece)
            pythons |= {of[piece.source]} if inside else set()
        elif not inside:
            sys.exit(f"no package that is installed has {piece.source}, which {piece.place} is made of")
    for name, own in mine.items():
        made = installed(name, [piece for piece in own if piece.is_file])
        (python if name in pythons else packages).append(made)
    if any(piece.place.startswith("_decimal.") and "libmpdec" not in str(needed(piece.content)) for piece in pieces):
        import decimal

        python.append(bundled("libmpdec", getattr(decimal, "__libmpdec_version__", ""), "BSD-2-Clause"))
    version = platform.python_version()
    whole = Component(
        kind="library",
        name="python",
        version=version,
        purl=package_url("generic", "python", version),
        licences=("Python-2.0",),
        parts=python,
    )
    return [whole, *packages]


def owning(paths: Iterable[Path]) -> dict[Path, str]:
    """Which Debian package each file is of, as far as one is; /lib and /usr/lib are the same folder, under either name."""
    names = {
        name: path
        for path in paths
        for each in {path, path.resolve()}
        for name in (str(each), str(each).removeprefix("/usr"), f"/usr{each}")
    }
    if not names:
        return {}
    answer = subprocess.run(["dpkg-query", "--search", *sorted(names)], check=False, capture_output=True, text=True)
    found: dict[Path, str] = {}
    for line in answer.stdout.splitlines():
        package, _, name = line.partition(": ")
        if name in names and not package.startswith("diversion "):
            found[names[name]] = package.partition(",")[0].partition(":")[0]
    return found


def installed(name: str, files: Iterable[Piece]) -> Component:
    """A package of this host.  Ends the program where it is not installed."""
    form = "".join(f"{field}\t${{{field}}}\n" for field in FIELDS)
    answer = subprocess.run(["dpkg-query", "--show", "-f", form, name], check=False, capture_output=True, text=True)
    if answer.returncode:
        sys.exit(f"the package {name} is not installed here: {answer.stderr.strip()}")
    # A package can be installed for two processors; ours is told first.
    lines = answer.stdout.splitlines()[: len(FIELDS)]
    fields = {field: value for line in lines for field, _, value in [line.partition("\t")] if value}
    parts = [piece.component for piece in files]
    return debian_package(fields, copyright_text(name), of_this_release(), files=parts)


def copyright_text(name: str) -> str:
    path = Path("/usr/share/doc", name, "copyright")
    return path.read_text(errors="replace") if path.is_file() else ""


def merged(made: Iterable[Component]) -> list[Component]:
    """One component of several for the same package."""
    by_name: dict[tuple[str, str], Component] = {}
    for one in made:
        key = (one.purl or one.name, one.version)
        before = by_name.get(key)
        parts = (
            one.parts if before is None else (*before.parts, *(each for each in one.parts if each not in before.parts))
        )
        by_name[key] = replace(one, parts=tuple(parts))
    return list(by_name.values())
