"""The layers of the catalogue: the one in the program, a newer issue of it, and over these the operator's own entries.

A newer issue is signed with ed25519 by a key that the program or the operator trusts (`catalogue.keys`, a key a line).
"""

import base64
import binascii
import contextlib
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Final

from tinkbox.catalogue.entries import Entry
from tinkbox.catalogue.public_keys import ed25519_verifies
from tinkbox.catalogue.reading import MAX_FILE, CatalogueFile, read_catalogue
from tinkbox.model.errors import Conflict, Invalid, NotFound
from tinkbox.model.spelling import meant

BUILT_IN: Final = "built-in"
ISSUE: Final = "catalogue.yaml"
KEYS: Final = "catalogue.keys"
OWN: Final = "catalogue.d"
MAX_SIGNATURE: Final = 1024
_PACKAGE: Final = resources.files("tinkbox.catalogue")
_KEY: Final = re.compile(r"ed25519 ([A-Za-z0-9+/]{43}=)(?: .*)?\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """All entries by id, and the `serial` of the issue that most of them are of."""

    entries: Mapping[str, Entry]
    serial: int

    def entry(self, id: str) -> Entry:  # noqa: A002  what a person types
        """Raises NotFound that names the nearest."""
        if id not in self.entries:
            raise NotFound(f"the catalogue has no image {id[:60]}; {meant(id, self.entries)}")
        return self.entries[id]


@dataclass(frozen=True, slots=True, kw_only=True)
class Folders:
    """Where an operator's layers are: `shared` for all users of a host, `own` for one, which is written to."""

    shared: Path
    own: Path

    @property
    def all(self) -> Sequence[Path]:
        return (self.shared,) if self.shared == self.own else (self.shared, self.own)

    @property
    def keys(self) -> Sequence[Path]:
        """Where OpenPGP keys of own entries are."""
        return tuple(folder / OWN for folder in self.all)


def load(folders: Folders, files: Iterable[Path] = ()) -> Catalogue:
    """The catalogue with all its layers, the last of which are `files`; raises Invalid with the problems of a file."""
    issue = newest_issue(folders)
    entries = dict(issue.entries)
    own = (path for folder in folders.keys for path in sorted(folder.glob("*.yaml")))
    for path in (*own, *files):
        entries |= read_catalogue(_read(path).decode("utf-8", "replace"), str(path)).entries
    return Catalogue(entries=entries, serial=issue.serial)


def built_in() -> CatalogueFile:
    return read_catalogue((_PACKAGE / "entries.yaml").read_text(), BUILT_IN)


def newest_issue(folders: Folders) -> CatalogueFile:
    """The issue with the largest serial, of the program's and those that were installed."""
    newest = built_in()
    for path in (folder / ISSUE for folder in folders.all):
        if path.is_file():
            try:
                issue = verified(_read(path), _read(path.with_name(f"{ISSUE}.sig")), folders, str(path))
            except (Invalid, NotFound) as refusal:
                way_out = f"install a newer issue with `tinkbox image catalogue --install`, or remove {path}"
                raise Invalid(f"{path} is not used: {refusal}: {way_out}") from None
            newest = max(newest, issue, key=lambda each: each.serial)
    return newest


def install(content: bytes, signature: bytes, folders: Folders, name: str) -> CatalogueFile:
    """Keep a newer issue; raises Invalid for one that no trusted key signed, Conflict for one that is not newer."""
    issue = verified(content, signature, folders, name)
    there = max(built_in().serial, *(_serial(folder / ISSUE) for folder in folders.all))
    if issue.serial <= there:
        raise Conflict(f"{name} has serial {issue.serial}, and serial {there} is here: it is not newer")
    folders.own.mkdir(parents=True, exist_ok=True)
    # The signature first: a catalogue with another's signature is refused, and can be installed again.
    _write(folders.own / f"{ISSUE}.sig", signature)
    _write(folders.own / ISSUE, content)
    return issue


def verified(content: bytes, signature: bytes, folders: Folders, name: str) -> CatalogueFile:
    """A signed issue, read; raises Invalid."""
    keys = trusted_keys(folders)
    if not keys:
        raise Invalid(f"{name} is signed, and no key is trusted here: put one into {folders.own / KEYS}")
    made = _signature(signature)
    if made is None:
        raise Invalid(f"{name}.sig is no ed25519 signature: expected 64 bytes, or these in base64")
    if not any(ed25519_verifies(key, made, content) for key in keys):
        raise Invalid(f"{name} is not signed by a key that is trusted here ({folders.own / KEYS})")
    return read_catalogue(content.decode("utf-8", "replace"), name)


def trusted_keys(folders: Folders) -> Sequence[bytes]:
    """The public keys of those who may issue a catalogue; raises Invalid for a line that is none."""
    texts = {f"the program's {KEYS}": (_PACKAGE / KEYS).read_text()}
    for folder in folders.all:
        if (folder / KEYS).is_file():
            texts[str(folder / KEYS)] = _read(folder / KEYS).decode("utf-8", "replace")
    keys = []
    for name, text in texts.items():
        for number, line in enumerate(text.splitlines(), 1):
            if not line.strip() or line.startswith("#"):
                continue
            if (key := _KEY.match(line.strip())) is None:
                raise Invalid(f"{name}, line {number}: expected `ed25519`, a public key in base64, and a name")
            keys.append(base64.b64decode(key[1]))
    return keys


def _serial(path: Path) -> int:
    """The serial of an issue as it lies there, believed or not; 0 where there is none to read."""
    try:
        return read_catalogue(_read(path).decode("utf-8", "replace"), str(path)).serial
    except (Invalid, NotFound):
        return 0


def _signature(content: bytes) -> bytes | None:
    if len(content) == 64:
        return content
    with contextlib.suppress(binascii.Error):
        made = base64.b64decode(content.strip(), validate=True) if len(content) <= MAX_SIGNATURE else b""
        return made if len(made) == 64 else None
    return None


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE + 1)
    except FileNotFoundError:
        raise NotFound(f"no file {path}: name a catalogue of your own") from None
    except OSError as error:
        raise NotFound(f"cannot read {path}: {error.strerror}") from None
    if len(content) > MAX_FILE:
        raise Invalid(f"{path} has more than {MAX_FILE >> 20} MiB")
    return content


def _write(path: Path, content: bytes) -> None:
    """The whole content or none of it, wherever this stops."""
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with open(descriptor, "wb") as file:  # noqa: PTH123  a descriptor
            file.write(content)
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
