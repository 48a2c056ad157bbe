"""The documents of files and folders that a command names, as text.

A folder may come from a stranger: links that lead out of it are refused, and so is what is no file, or too much.
"""

import os
import re
import stat
import sys
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tinkbox.cli.input_documents import read_bounded
from tinkbox.model.applying import MAX_APPLIED, MAX_FILES
from tinkbox.model.errors import Invalid, NotFound, Problem, Refusal, TooLarge
from tinkbox.model.text import counted

STANDARD_INPUT: Final = "-"
MOST_NAMED: Final = 5  # files or folders
SUFFIXES: Final = (".yaml", ".yml", ".json")
# It tells kustomize which of the files beside it belong together.
_KUSTOMIZATIONS: Final = ("kustomization.yaml", "kustomization.yml")
_MAX_FOLDERS: Final = 64  # within each other
_SCHEME: Final = re.compile(r"\Ahttps?:/(?!/)")
_MARK: Final = BOM_UTF8.decode()
_UTF_16: Final = (BOM_UTF16_LE, BOM_UTF16_BE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """The texts of files by their names; `skipped` are the folders that have documents too, which were not read."""

    texts: dict[str, str]
    skipped: Sequence[Path]


def read_sources(sources: Sequence[str], *, recursive: bool) -> Sources:
    """Read `-`, standard input, a file, or of a folder the files that end as SUFFIXES.

    Folders within are read when `recursive`; what begins with a dot never is.  Raises Invalid with every problem, NotFound
    where there is nothing, and TooLarge.
    """
    skipped = [] if recursive else [each for source in dict.fromkeys(sources) for each in folders_within(source)]
    texts: dict[str, str] = {}
    problems: list[Problem] = []
    total = 0
    for path in _each_once([path for source in sources for path in _paths(source, recursive=recursive)]):
        if odd := _odd_name(path):
            problems.append(Problem(key=odd, text="its name is not UTF-8: rename it"))
            continue
        try:
            texts[_called(path)] = text = _text(path)
        except TooLarge:
            problems.append(Problem(key=_called(path), text=f"it has more than {MAX_APPLIED >> 20} MiB: split it"))
            continue
        except Refusal as refusal:
            problems.append(Problem(text=str(refusal)))
            continue
        total += len(text)
        if len(texts) > MAX_FILES or total > MAX_APPLIED:
            raise TooLarge(
                f"more than {MAX_FILES} files, or {MAX_APPLIED >> 20} MiB of them: apply them in parts, folder by folder"
            )
    if problems:
        raise Invalid(f"nothing was applied: {counted(len(problems), 'file')} cannot be read", problems)
    if not texts:
        nothing = f"no {', '.join(SUFFIXES)} in {', '.join(sources)}"
        if skipped:
            raise NotFound(f"{nothing}, but documents in {named_paths(skipped)}: -R also reads the folders within")
        raise NotFound(nothing)
    return Sources(texts=texts, skipped=skipped)


def _each_once(paths: Sequence[Path | None]) -> Iterator[Path | None]:
    """Each file once, however often it is named, and by how many names; a link is left out where what it leads to is there too."""
    real = {each: "" if each is None else (_same_file(each) or _real(each) or each.absolute()) for each in paths}
    called = {where: path for path, where in reversed(real.items()) if path is None or not _is(path.is_symlink)}
    return (each for each, where in real.items() if called.setdefault(where, each) == each)


def _same_file(path: Path) -> tuple[int, int] | None:
    """What a file of several names (hard links) has in common under each; None: it has one name, or is none."""
    with suppress(OSError):
        found = path.stat()
        return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) and found.st_nlink > 1 else None
    return None


def named_paths(paths: Sequence[Path]) -> str:
    """The first few of them."""
    more = f" and {len(paths) - MOST_NAMED} more" if len(paths) > MOST_NAMED else ""
    return ", ".join(map(str, paths[:MOST_NAMED])) + more


def folders_within(source: str) -> Iterator[Path]:
    """The folders directly within a source that have documents, however deep."""
    folder = Path(source)
    if source == STANDARD_INPUT or not _is(folder.is_dir):
        return
    entries: list[os.DirEntry[str]] = []
    with suppress(OSError), os.scandir(folder) as listing:  # that it cannot be read is told where it is read
        entries += sorted(listing, key=lambda each: each.name)
    for each in entries:
        with suppress(OSError):  # as is a link that cannot be followed
            # A link may lead to a large tree, so what is behind it is not looked for.
            if _is_linked_folder(each) or (_is_folder(each) and _holds_documents(folder / each.name)):
                yield folder / each.name


def _holds_documents(folder: Path, depth: int = 0) -> bool:
    """Whether there are documents below; of what cannot be read, there may be."""
    try:
        with os.scandir(folder) as listing:
            entries = [(each, _is_folder(each)) for each in listing]
    except OSError:
        return True
    if any(_is_document(each) for each, is_folder in entries if not is_folder):
        return True
    deeper = (each for each, is_folder in entries if is_folder and depth < _MAX_FOLDERS)
    return any(_holds_documents(folder / each.name, depth + 1) for each in deeper)


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    """Raises OSError where that cannot be told, as _is_linked_folder does: of a link in a circle, or into a closed folder."""
    return not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False)


def _is_linked_folder(entry: "os.DirEntry[str]") -> bool:
    return not entry.name.startswith(".") and entry.is_symlink() and entry.is_dir()


def _is_document(entry: "os.DirEntry[str]") -> bool:
    """Whether what is no folder is read, by its name."""
    return not entry.name.startswith(".") and entry.name.endswith(SUFFIXES) and entry.name not in _KUSTOMIZATIONS


def _leads_out(link: Path, root: Path) -> bool:
    where = _real(link)
    return where is None or not where.is_relative_to(root)


def _real(path: Path) -> Path | None:
    """Where it leads to, of a circle into that; None: that is not to be known, as of other users' processes in /proc."""
    with suppress(OSError):
        where = Path(os.path.realpath(path))  # Path.resolve raises RuntimeError for a circle
        if where.is_symlink():
            where.readlink()  # Python 3.13 takes a link that cannot be read for what it leads to
        return where
    return None


def _is(so: Callable[[], bool]) -> bool:
    """What a path is; of one that cannot be looked at False: why is told where it is read."""
    try:
        return so()
    except OSError:
        return False


def _called(path: Path | None) -> str:
    return "standard input" if path is None else str(path)


def _odd_name(path: Path | None) -> str:
    """A path that is no text, with escapes for the bytes that are none; empty: it is text."""
    shown = os.fsencode(path or "").decode(errors="backslashreplace")
    return "" if path is None or shown == str(path) else shown


def _paths(source: str, *, recursive: bool) -> Iterator[Path | None]:
    """The files of a source, None for standard input; raises NotFound and Invalid."""
    if source == STANDARD_INPUT:
        yield None
        return
    path = Path(source)
    if not _is(path.is_dir):
        yield path
        return
    yield from _below(path, path.resolve(), recursive=recursive)


def _below(folder: Path, root: Path, *, recursive: bool, depth: int = 0) -> Iterator[Path]:
    try:
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda each: each.name)
    except OSError as error:
        raise NotFound(f"cannot read {folder}: {error.strerror}") from None
    for entry in entries:
        path = folder / entry.name
        try:
            is_folder, is_linked_folder = _is_folder(entry), recursive and _is_linked_folder(entry)
        except OSError as error:
            if not _is_document(entry):
                raise NotFound(f"cannot read {path}: {error.strerror}") from None
            is_folder = is_linked_folder = False  # that it cannot be read is told with the other files
        if is_linked_folder and _leads_out(path, root):
            raise Invalid(f"{path} is a link that leads out of {root}: name the folder itself with -f")
        if is_folder:
            if recursive and depth < _MAX_FOLDERS:
                yield from _below(path, root, recursive=True, depth=depth + 1)
        elif _is_document(entry):
            if entry.is_symlink() and _leads_out(path, root):
                raise Invalid(f"{path} is a link that leads out of {root}: name the file itself with -f")
            yield path


def _text(path: Path | None) -> str:
    if path is None:
        if sys.stdin is None or sys.stdin.isatty():
            raise Invalid("-f - reads standard input: pipe the documents into it")
        content = sys.stdin.buffer.read(MAX_APPLIED + 1)
        if len(content) > MAX_APPLIED:
            raise TooLarge("")
    else:
        _refuse_no_file(path)
        content = read_bounded(path, MAX_APPLIED)
    try:
        text = content.decode("utf-16" if content.startswith(_UTF_16) else "utf-8")
    except UnicodeDecodeError:
        raise Invalid(f"{_called(path)} is not UTF-8 text") from None
    # Of several files that were put one behind the other, each may begin with one.
    return text.removeprefix(_MARK).replace(f"\n{_MARK}", "\n")


def _refuse_no_file(path: Path) -> None:
    """Raise NotFound, and Invalid for a device and the like: reading it may never end.  A pipe that is named is what a shell makes of `<(…)`."""
    try:
        mode = path.stat().st_mode
    except OSError as error:
        if isinstance(error, FileNotFoundError) and _is(path.is_symlink):
            raise NotFound(
                f"cannot read {path}: it is a link to {path.readlink()}, and there is no such file"
            ) from None
        raise NotFound(f"cannot read {_as_typed(path)}: {error.strerror}{_habit(str(path))}") from None
    if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
        raise Invalid(f"cannot read {path}: it is no file")


def _as_typed(path: Path) -> str:
    """A path as it was, where it is a URL, of whose slashes a path has one alone."""
    return _SCHEME.sub(r"\g<0>/", str(path))


def _habit(path: str) -> str:
    """What to type instead of what `kubectl -f` takes."""
    if path.startswith(("http:/", "https:/")):
        return ": nothing is downloaded. Pipe it: curl -fsSL URL | tinkbox apply -f -"
    if "," in path:
        return ": one -f names one file, and several may be given: -f a.yaml -f b.yaml"
    return ""
