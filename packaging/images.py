"""Builds the images of actions and services from Debian packages, without Docker, the same bytes for the same packages.

    python packaging/images.py image2disk writefile reboot kexec --output build/images --cache build/debs

Each folder under examples/actions and examples/services has an image.toml: packages, files, entrypoint, and what of
PRUNED it needs after all (`keep`); a service's also says what was built elsewhere (`copies`), the ports it listens on and
its health check.  An image that is the `same_as` another has its layer too, and is started by its own entrypoint.  With `--architecture aarch64` they are for machines with arm64.  The result is what `docker save` would
write, for `tinkbox image load` and `docker load`.
"""

import argparse
import hashlib
import io
import json
import shutil
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "packaging")]

from bytecode import PYTHON, compiled  # noqa: E402  (the line above makes these importable)

from tinkbox.osie.architectures import X86_64, Architecture, architecture, of_this_machine  # noqa: E402
from tinkbox.osie.debian import unpack  # noqa: E402

# Where an image's own files lie in it, by where they come from.
FOLDERS = {"actions": "action", "services": "service"}
HEALTH_SECONDS = 1
CERTIFICATES = "etc/ssl/certs/ca-certificates.crt"
# Brought by dependencies for the sake of an installed system; an image that needs one names it among its packages.
LEFT_OUT = (
    "debconf", "dpkg", "openssl", "perl-base", "tar", "readline-common", "media-types", "tzdata", "libsqlite3-0",
    "libreadline8*", "libncursesw6", "libtinfo6", "libdb5.3*", "libselinux1", "libpcre2-8-0", "libkrb5-3",
    "libgssapi-krb5-2", "libkrb5support0", "libk5crypto3", "libkeyutils1", "libcom-err2",
    "libnsl2", "libtirpc3*", "libtirpc-common", "libstdc++6", "openssl-provider-legacy", "netbase",
    "python3-cffi-backend", "logsave", "libss2",
)  # fmt: skip
# Parts of packages, as patterns below the root.
PRUNED = (
    "usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/lintian", "usr/share/info", "usr/share/applications",
    "usr/share/pixmaps", "usr/share/bash-completion", "usr/share/python3", "usr/share/ca-certificates",
    "usr/share/menu", "usr/share/debconf", "usr/share/initramfs-tools", "usr/lib/*/gconv", "usr/lib/*/audit", "usr/lib/locale",
    "usr/sbin", "sbin",
    *(f"usr/lib/python3*/{name}" for name in (
        "ensurepip", "idlelib", "lib2to3", "distutils", "unittest", "pydoc*", "tkinter", "turtle*", "test", "sqlite3", "curses",
        "asyncio", "multiprocessing", "concurrent", "xml", "xmlrpc", "wsgiref", "dbm", "venv", "mailbox.py", "imaplib.py",
        "config-*", "_pydecimal.py", "doctest.py", "pdb.py", "cgi.py", "ctypes", "json/tool.py",
    )),
    *(f"usr/lib/python3*/lib-dynload/{name}.*" for name in (
        "_sqlite3", "readline", "_curses*", "_dbm", "_codecs_*", "_ctypes*", "_asyncio", "_multi*", "_test*", "_x*", "ossaudiodev",
        "audioop", "nis", "_decimal",
    )),
    "usr/lib/python3/dist-packages/zstandard/*cffi*", "usr/lib/python3/dist-packages/zstandard/*_rust*",
    "usr/share/efivar", "usr/share/gdb", "usr/share/icons", "usr/share/metainfo", "usr/lib/systemd", "usr/lib/udev",
    "usr/bin/py3*", "usr/bin/pdb*", "usr/bin/pygettext*", "usr/bin/pzstd", "lib/*/libmvec.so*", "usr/lib/*/libexpatw.so*",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """What an image.toml says; `files`, patterns relative to its folder, end up in `folder`, such as /action.

    `keep` are patterns as in PRUNED: what they find stays.  `copies` are files of the project by where they belong in the
    image.  `architecture` is what Debian and Docker call the processor.
    """

    name: str
    tag: str
    packages: tuple[str, ...]
    files: tuple[Path, ...]
    entrypoint: tuple[str, ...]
    keep: tuple[str, ...] = ()
    folder: str = "action"
    copies: Mapping[str, Path] = field(default_factory=dict)
    ports: tuple[int, ...] = ()
    healthcheck: tuple[str, ...] = ()
    architecture: str = "amd64"

    @property
    def reference(self) -> str:
        return f"{self.name}:{self.tag}"

    @property
    def content(self) -> tuple[object, ...]:
        """What its layer is made from: images in which this is equal have the same one."""
        copies = tuple(sorted(self.copies.items()))
        return self.packages, self.files, self.keep, self.folder, copies, self.architecture


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("images", nargs="+", help="folders under examples/actions or examples/services")
    parser.add_argument("--output", type=Path, required=True, help="the folder for the archives")
    parser.add_argument("--cache", type=Path, required=True, help="where downloaded packages are kept")
    parser.add_argument("--architecture", help="x86_64 or aarch64; default: this machine's")
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    made_for = architecture(arguments.architecture) if arguments.architecture else of_this_machine()
    layers: dict[tuple[object, ...], bytes] = {}
    for name in arguments.images:
        image = declaration(named(name), made_for)
        archive = arguments.output / f"{name}.tar"
        if image.content not in layers:
            with tempfile.TemporaryDirectory(prefix=f"tinkbox-{name}-") as scratch:
                root = Path(scratch)
                root_file_system(image, root, arguments.cache)
                layers[image.content] = layer(root, everything(root))
        partial = archive.with_suffix(".partial")
        save([layers[image.content]], image, partial)
        partial.replace(archive)
        print(f"{archive}: {image.reference}, {archive.stat().st_size / (1 << 20):.1f} MiB")


def named(name: str) -> Path:
    """The folder of the image that is called so."""
    folders = [ROOT / "examples" / kind / name for kind in FOLDERS]
    return next((folder for folder in folders if folder.is_dir()), folders[0])


def declaration(folder: Path, made_for: Architecture = X86_64) -> Declaration:
    """Read a folder's image.toml."""
    entry = tomllib.loads((folder / "image.toml").read_text())
    if same_as := entry.get("same_as"):
        other = declaration(folder.parent / same_as, made_for)
        return replace(other, name=folder.name, entrypoint=tuple(entry["entrypoint"]))
    return Declaration(
        name=folder.name,
        tag=entry["tag"],
        packages=tuple(entry["packages"]),
        files=tuple(file for pattern in entry["files"] for file in matching(folder, pattern)),
        entrypoint=tuple(entry["entrypoint"]),
        keep=tuple(entry.get("keep", ())),
        folder=FOLDERS[folder.parent.name],
        copies={place: ROOT / source for place, source in entry.get("copies", {}).items()},
        ports=tuple(entry.get("ports", ())),
        healthcheck=tuple(entry.get("healthcheck", ())),
        architecture=made_for.debian,
    )


def matching(folder: Path, pattern: str) -> list[Path]:
    """The files that a pattern means, in an order of their own; raises FileNotFoundError when it means none."""
    found = sorted(folder.glob(pattern))
    if not found:
        raise FileNotFoundError(f"{folder / 'image.toml'}: there is no {pattern}")
    return found


def root_file_system(image: Declaration, root: Path, cache: Path) -> None:
    """The packages without what a container never uses, and the image's own files."""
    foreign = "" if image.architecture == of_this_machine().debian else image.architecture
    left_out = [name for name in LEFT_OUT if name not in image.packages]
    unpack(image.packages, root, cache=cache, exclude=left_out, architecture=foreign)
    authorities = sorted((root / "usr/share/ca-certificates").rglob("*.crt"))
    if authorities:  # what the package's own script would do when it is installed
        bundle = root / CERTIFICATES
        bundle.parent.mkdir(parents=True, exist_ok=True)
        bundle.write_text("".join(path.read_text() for path in authorities))
    kept = {path for pattern in image.keep for path in root.glob(pattern)}
    for pattern in PRUNED:
        for path in set(root.glob(pattern)):
            prune(path, kept)
    # Python finds no module in byte code of another version; then it reads the sources, which takes longer.
    compiled(root / "usr" / "lib" / PYTHON, root, sources=False)
    (root / "tmp").mkdir(exist_ok=True)
    (root / "tmp").chmod(0o1777)
    own = {f"{image.folder}/{file.name}": file for file in image.files}
    for place, source in {**own, **image.copies}.items():
        path = root / place
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, path)
        path.chmod(0o644)
    if (root / "usr" / "lib" / PYTHON).exists():  # sources stay, for who looks into a failed container
        compiled(root / image.folder, root, sources=True)


def prune(path: Path, kept: set[Path]) -> None:
    """Remove a file, or a folder but for what is kept in it."""
    if path in kept:
        return
    is_folder = path.is_dir() and not path.is_symlink()
    if is_folder and any(one.is_relative_to(path) for one in kept):
        for child in list(path.iterdir()):
            prune(child, kept)
    elif is_folder:
        shutil.rmtree(path)
    else:
        path.unlink()


def everything(root: Path) -> list[Path]:
    return sorted(root.rglob("*"))


def layer(root: Path, paths: Iterable[Path]) -> bytes:
    """A tar of these paths that depends on nothing but their content and modes."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for path in paths:
            member = tar.gettarinfo(path, arcname=str(path.relative_to(root)))
            if member.islnk():  # a second name of a file; which one is first must not depend on the file system
                member.type, member.linkname, member.size = tarfile.REGTYPE, "", path.stat().st_size
            _add(tar, member, path.read_bytes() if member.isreg() else b"")
    return packed.getvalue()


def save(layers: list[bytes], image: Declaration, archive: Path) -> None:
    """Write the image as `docker save` does."""
    names = [f"{hashlib.sha256(content).hexdigest()}/layer.tar" for content in layers]
    config: dict[str, Any] = {
        "Entrypoint": list(image.entrypoint),
        "Env": ["PATH=/usr/sbin:/usr/bin:/sbin:/bin", f"SSL_CERT_FILE=/{CERTIFICATES}"],
        "WorkingDir": "/",
    }
    if image.ports:
        config["ExposedPorts"] = {f"{port}/tcp": {} for port in image.ports}
    if image.healthcheck:
        config["Healthcheck"] = {"Test": ["CMD", *image.healthcheck], "Interval": HEALTH_SECONDS * 1_000_000_000}
    configuration = _json(
        {
            "architecture": image.architecture,
            "os": "linux",
            "created": "1970-01-01T00:00:00Z",
            "config": config,
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{name.partition('/')[0]}" for name in names]},
            "history": [{"created": "1970-01-01T00:00:00Z", "created_by": f"examples/{image.folder}s/{image.name}"}],
        }
    )
    configuration_name = f"{hashlib.sha256(configuration).hexdigest()}.json"
    manifest = _json([{"Config": configuration_name, "RepoTags": [image.reference], "Layers": names}])
    with tarfile.open(archive, mode="w", format=tarfile.GNU_FORMAT) as tar:
        members = [(configuration_name, configuration), *zip(names, layers, strict=True), ("manifest.json", manifest)]
        for name, content in members:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            member.mode = 0o644
            _add(tar, member, content)


def _add(tar: tarfile.TarFile, member: tarfile.TarInfo, content: bytes) -> None:
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    tar.addfile(member, io.BytesIO(content) if content else None)


def _json(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


if __name__ == "__main__":
    main()
