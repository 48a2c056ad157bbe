"""Makes the executable of one file from what PyInstaller found that tinkbox needs (`../tinkbox.spec` calls `pack`).

PyInstaller's analysis says which modules, extension modules and shared libraries are needed.  Its own packer would have
every start unpack all of them into a folder; ours lays them, as they are, into a program's read-only data (`main.c`), where
`carried.py` finds them, and what is not touched is not even read.
"""

import marshal
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent.parent), str(HERE.parent), str(HERE)]

from materials import OF_THE_COMPILER, Piece, bill, components  # noqa: E402  (the line above makes these importable)

from tinkbox.osie.elf import needed  # noqa: E402

CFLAGS = ("-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-fstack-protector-strong", "-D_FORTIFY_SOURCE=2")
# Every host with this C library has them.
OF_THE_HOST = re.compile(r"ld-linux.*|lib(c|m|dl|rt|util|pthread|resolv|anl)\.so\.\d+")
# What PyInstaller calls an extension module and a shared library.
EXTENSION, LIBRARY = "EXTENSION", "BINARY"
# What it has for the source of a namespace.
NAMESPACE = (None, "-", "")
BASE_LIBRARY = "base_library.zip"
# What an installer notes of how it was called: it says nothing of the package, and is not the same everywhere.
NOTES = re.compile(r"[^/]+\.dist-info/(INSTALLER|RECORD|REQUESTED|direct_url\.json)")
PYC_HEADER = 16
# The bill of materials: its name beside the executable, and its place in it, where `tinkbox osie build` finds it.
BILL = "tinkbox.cdx.json"
CARRIED_BILL = f"tinkbox/osie/{BILL}"
# Linked into the program, beside Python.
STATIC = ("libz.a", "libexpat.a")

# PyInstaller's tables: where to, where from (None or "-" for a namespace), of what kind.
Found = Iterable[tuple[str, str | None, str]]
# The place that a module would have as a file, and its content: code by `marshal`, or a shared library.
Module = tuple[str, bytes]


@dataclass(frozen=True, slots=True)
class Binaries:
    """Extension modules by name, and shared libraries by what programs call them; both without what debuggers read."""

    extensions: Mapping[str, Module]
    libraries: Mapping[str, bytes]
    # The files that they were made of, by the same names.
    sources: Mapping[str, Path] = field(default_factory=dict)


@dataclass(slots=True)
class Carried:
    """What the program carries, one behind the other, and the index of it that `carried.py` reads."""

    content: bytearray = field(default_factory=bytearray)
    modules: dict[str, tuple[str, str, int, int]] = field(default_factory=dict)
    libraries: dict[str, tuple[int, int]] = field(default_factory=dict)
    needs: dict[str, list[str]] = field(default_factory=dict)
    data: dict[str, tuple[int, int]] = field(default_factory=dict)

    def add(self, piece: bytes) -> tuple[int, int]:
        """Where it begins and ends."""
        begin = len(self.content)
        self.content += piece
        return begin, len(self.content)

    @property
    def index(self) -> bytes:
        """Preceded by its own length, as eight bytes; the content comes behind it."""
        # The second version of marshal's format depends on nothing but values (`stable` says on what the others do).
        index = marshal.dumps((self.modules, self.libraries, self.needs, self.data), 2)
        return len(index).to_bytes(8, "little") + index


def pack(pure: Found, binaries: Found, datas: Found, work: Path, output: Path) -> None:
    """Link `output` from PyInstaller's tables, and lay its bill of materials beside it; `work` is a folder for what is made on the way.

    Ends the program where a shared library is needed that neither is carried nor is of every host, and where something comes from
    nobody knows where.
    """
    work.mkdir(parents=True, exist_ok=True)
    found, pure = list(binaries), list(pure)
    # Programs that we carry as data look like libraries to PyInstaller.
    programs = [each for each in found if each[0].startswith("tinkbox/")]
    files = {place: Path(source) for place, source, _ in (*datas, *programs) if source and not NOTES.fullmatch(place)}
    linked = stripped([each for each in found if each not in programs], work / "stripped")
    modules = {**base_library(files.pop(BASE_LIBRARY)), **compiled(pure)}
    sources = {name: Path(str(source)) if source not in NAMESPACE else None for name, source, _ in pure}
    first_time = gather(modules, linked, files)
    parts = components(pieces(first_time, {**linked.sources, **sources}, files), archives())
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    (work / BILL).write_text(bill(parts, epoch))
    carried = gather(modules, linked, {**files, CARRIED_BILL: work / BILL})
    (work / "carried.bin").write_bytes(carried.index + carried.content)
    first = stable(compile((HERE / "carried.py").read_bytes(), "carried.py", "exec", dont_inherit=True))
    (work / "first.bin").write_bytes(first)
    (work / "frozen.c").write_text(frozen(carried, len(first)))
    link(work, output)
    output.with_name(BILL).write_text(bill(parts, epoch, output.read_bytes()))


def pieces(carried: "Carried", sources: Mapping[str, Path | None], files: Mapping[str, Path]) -> list[Piece]:
    """All that is carried, each with the file that it was made of: modules and libraries by name, data by place."""
    found, content, standard = [], bytes(carried.content), Path(sysconfig.get_path("stdlib"))
    for name, (kind, place, begin, end) in carried.modules.items():
        if source := sources.get(name, standard / place):  # a namespace has none
            found.append(Piece(place, source, content[begin:end], is_file=kind == "extension"))
    for name, (begin, end) in carried.libraries.items():
        found.append(Piece(name, sources[name] or Path(name), content[begin:end]))
    for place, (begin, end) in carried.data.items():
        found.append(Piece(place, files[place], content[begin:end]))
    return found


def archives() -> list[Path]:
    """The static libraries that every program of ours is linked with."""
    names = [f"-print-file-name={name}" for name in (*STATIC, *OF_THE_COMPILER)]
    found = [
        subprocess.run(["gcc", name], check=True, stdout=subprocess.PIPE, text=True).stdout.strip() for name in names
    ]
    return [python_archive(), *(Path(each).resolve() for each in found)]


def stable(code: CodeType) -> bytes:
    """Code by `marshal`, the same for the same code.

    What marshal writes of an object depends on whether anybody else refers to it just then.  Here somebody always does.
    """
    held: list[object] = []
    waiting: list[object] = [code]
    while waiting:
        one = waiting.pop()
        held.append(one)
        if isinstance(one, CodeType):
            waiting += [one.co_consts, one.co_names, one.co_filename, one.co_name, one.co_linetable, one.co_qualname]
            waiting += [one.co_varnames, one.co_cellvars, one.co_freevars, one.co_exceptiontable]
        elif isinstance(one, tuple | frozenset):
            waiting += one
    return marshal.dumps(code)


def base_library(path: Path) -> dict[str, Module]:
    """What PyInstaller keeps apart: the modules that Python itself needs to start."""
    with zipfile.ZipFile(path) as archive:
        places = {name.removesuffix("c"): archive.read(name)[PYC_HEADER:] for name in sorted(archive.namelist())}
    names = {place: place.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for place in places}
    return {names[place]: (place, stable(marshal.loads(code))) for place, code in places.items()}


def compiled(pure: Found) -> dict[str, Module]:
    """Every other module."""
    found: dict[str, Module] = {}
    for name, source, _ in pure:
        namespace = source in NAMESPACE
        package = namespace or Path(str(source)).name == "__init__.py"
        place = name.replace(".", "/") + ("/__init__.py" if package else ".py")
        text = b"" if namespace else Path(str(source)).read_bytes()
        found[name] = place, stable(compile(text, place, "exec", dont_inherit=True))
    return found


def stripped(found: Found, folder: Path) -> Binaries:
    """Read all of them but Python's own library, which is linked in."""
    shutil.rmtree(folder, ignore_errors=True)
    extensions: dict[str, Module] = {}
    libraries: dict[str, bytes] = {}
    sources: dict[str, Path] = {}
    for place, source, kind in found:
        name = Path(place).name
        if source is None or kind not in (EXTENSION, LIBRARY) or name.startswith("libpython"):
            continue
        copy = folder / place
        copy.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["strip", "--strip-unneeded", "-o", copy, source], check=True)
        if kind == EXTENSION:
            inside = Path(place.rpartition("lib-dynload/")[2])
            name = ".".join((*inside.parent.parts, name.partition(".")[0]))
            extensions[name] = str(inside), copy.read_bytes()
        else:
            libraries[name] = copy.read_bytes()
        sources[name] = Path(source)
    return Binaries(extensions, libraries, sources)


def gather(code: Mapping[str, Module], linked: Binaries, files: Mapping[str, Path]) -> Carried:
    """Lay everything one behind the other."""
    carried = Carried()
    for name, (place, content) in sorted(code.items()):
        kind = "package" if place.endswith("/__init__.py") else "module"
        carried.modules[name] = (kind, place, *carried.add(content))
    for name, (place, content) in sorted(linked.extensions.items()):
        carried.modules[name] = ("extension", place, *carried.add(content))
        if libraries := in_order(name, content, linked.libraries):
            carried.needs[name] = libraries
    wanted = {each for libraries in carried.needs.values() for each in libraries}
    carried.libraries = {name: carried.add(linked.libraries[name]) for name in sorted(wanted)}
    carried.data = {place: carried.add(path.read_bytes()) for place, path in sorted(files.items())}
    return carried


def in_order(whose: str, content: bytes, libraries: Mapping[str, bytes]) -> list[str]:
    """The carried libraries that this one is linked with, each behind those that it needs itself."""
    found: list[str] = []
    for name in needed(content):
        if name in libraries:
            found += [each for each in (*in_order(name, libraries[name], libraries), name) if each not in found]
        elif not OF_THE_HOST.fullmatch(name):
            sys.exit(f"{whose} is linked with {name}, which PyInstaller did not find")
    return found


def frozen(carried: Carried, first: int) -> str:
    """Python's table of the modules that it has before it can ask anybody: `encodings`, and ours, of `first` bytes."""
    rows = [f'{{.name = "carried", .code = (const unsigned char *)first, .size = {first}}}']
    offset = len(carried.index)
    for name, (kind, _, begin, end) in carried.modules.items():
        if name.partition(".")[0] in ("encodings", "codecs"):
            code, package = f"(const unsigned char *)carried + {offset + begin}", int(kind == "package")
            rows.append(f'{{.name = "{name}", .code = {code}, .size = {end - begin}, .is_package = {package}}}')
    table = ",\n".join((*rows, "{0}"))
    return (
        "#include <Python.h>\nextern const char carried[], first[];\nextern const struct _frozen frozen_modules[];\n"
        f"const struct _frozen frozen_modules[] = {{{table}}};\n"
    )


def link(work: Path, output: Path) -> None:
    """The program: ours, Python's static library, and what is carried."""
    blobs = work / "blobs.S"
    blobs.write_text(
        ".section .rodata\n.balign 4096\n.global carried, carried_end, first\n"
        f'carried: .incbin "{work / "carried.bin"}"\ncarried_end:\n.balign 16\nfirst: .incbin "{work / "first.bin"}"\n'
        '.section .note.GNU-stack,"",@progbits\n'
    )
    python, options = static_python(work)
    output.parent.mkdir(parents=True, exist_ok=True)
    arriving = output.with_name(f".{output.name}.new")
    subprocess.run(
        [
            "gcc", *CFLAGS, *options, f"-I{sysconfig.get_path('include')}", "-s", "-no-pie", "-rdynamic",
            "-o", arriving, HERE / "main.c", work / "frozen.c", blobs,
            # All of it: extension modules call what Python itself does not.
            "-Wl,--whole-archive", python, "-Wl,--no-whole-archive",
            "-Wl,-Bstatic", "-lz", "-lexpat", "-Wl,-Bdynamic", "-lm", "-ldl", "-lutil", "-Wl,-z,relro,-z,now",
        ],
        check=True,
    )  # fmt: skip
    arriving.replace(output)


def python_archive() -> Path:
    return Path(sysconfig.get_config_var("LIBPL"), f"libpython{sysconfig.get_config_var('LDVERSION')}.a")


def static_python(work: Path) -> tuple[Path, list[str]]:
    """Python's static library, and what main.c is told of it.  Ends the program where there is none."""
    library = python_archive()
    if not library.is_file():
        sys.exit(f"there is no {library}: install libpython3-dev, or build with the Python of the distribution")
    members = subprocess.run(["ar", "t", library], check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    if "sha2module.o" not in members:
        return library, []
    # Since Python 3.12 it calls another static library, which Debian's packages do not have.
    copy = work / library.name
    shutil.copyfile(library, copy)
    subprocess.run(["ar", "d", copy, "sha2module.o"], check=True)
    return copy, ["-DWITHOUT_SHA2"]
