"""Finds modules, data and shared libraries in the executable of one file, of which this is the first line to run.

What it carries is one read-only piece of memory (`main.c`): an index, and what that tells the place of (`pack.py`).  Code is
run from there.  A shared library has to be a file for the C library's loader; it becomes one that lies in no folder: memory
(memfd_create), or where a host forbids that, a file that never had a name (O_TMPFILE).  So nothing is left behind, whoever
kills us, nobody else can change what is loaded, and a folder that is mounted `noexec` is no obstacle.

Only modules that are compiled into Python are imported at once; they cost nothing.
"""

import _imp
import marshal
import posix
import sys
from _frozen_importlib import ModuleSpec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# <linux/memfd.h>.  Since 6.3 kernels can be told to refuse memory that could be started as a program; a library needs no
# such thing, but older kernels do not know the word.
MFD_CLOEXEC, MFD_NOEXEC_SEAL = 1, 8
# Where a file without a name is tried, when memory is no file.
FOLDERS = ("/dev/shm", "/run", "/var/tmp", "/tmp", ".")
LENGTH = 8  # of the index's length, in bytes


class Carried:
    """All that the executable carries: a finder and a loader, as `importlib` calls them.

    By a module's name `modules` has its kind, the place that it would have as a file, and where in the content it begins
    and ends.  By a library's name `libraries` has where it begins and ends; `needs` has the libraries of an extension
    module, in the order of loading; `data` where each file begins and ends, by its place.  `load` loads a library's file
    so that what is loaded later is linked with it.
    """

    def __init__(self, content: memoryview, load: "Callable[[str], None]") -> None:
        behind = LENGTH + int.from_bytes(content[:LENGTH], "little")
        self.modules, self.libraries, self.needs, self.data = marshal.loads(content[LENGTH:behind])
        self.content = content[behind:]
        self._load = load
        self._loaded: set[str] = set()
        self._files = 0

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> ModuleSpec | None:
        """As importlib.abc.MetaPathFinder."""
        if name not in self.modules:
            return None
        kind, place, _, _ = self.modules[name]
        spec = ModuleSpec(name, self, origin=f"{sys.executable}/{place}", is_package=kind == "package")
        spec.has_location = True
        if kind == "package":
            spec.submodule_search_locations.append(spec.origin.rpartition("/")[0])
        return spec

    def create_module(self, spec: ModuleSpec) -> object:
        """As importlib.abc.Loader: extension modules make themselves.  Raises ImportError."""
        kind, _, begin, end = self.modules[spec.name]
        if kind != "extension":
            return None
        for library in self.needs.get(spec.name, ()):
            if library not in self._loaded:
                self._as_file(self._load, *self.libraries[library])
                self._loaded.add(library)
        return self._as_file(lambda path: _imp.create_dynamic(ModuleSpec(spec.name, self, origin=path)), begin, end)

    def exec_module(self, module: object) -> None:
        """As importlib.abc.Loader."""
        if self.modules[module.__name__][0] == "extension":
            _imp.exec_dynamic(module)
        else:
            exec(self.get_code(module.__name__), module.__dict__)

    def get_code(self, name: str) -> object:
        """As importlib.abc.InspectLoader."""
        kind, _, begin, end = self.modules[name]
        return None if kind == "extension" else marshal.loads(self.content[begin:end])

    def get_source(self, name: str) -> None:
        """As importlib.abc.InspectLoader: source is not carried."""

    def is_package(self, name: str) -> bool:
        """As importlib.abc.InspectLoader."""
        return self.modules[name][0] == "package"

    def get_resource_reader(self, name: str) -> "Place | None":
        """As importlib.resources asks for a package's data."""
        return Place(self, self.modules[name][1].rpartition("/")[0]) if self.is_package(name) else None

    def find_distributions(self, context: object = None) -> list[object]:
        """As importlib.metadata asks for packages, whose versions some of them ask for."""
        from importlib.metadata import PathDistribution

        places = {place.partition("/")[0] for place in self.data if place.endswith(".dist-info/METADATA")}
        named = {place.partition("-")[0].lower(): place for place in sorted(places)}
        wanted = getattr(context, "name", None)
        chosen = named if wanted is None else {wanted.lower().replace("-", "_")} & named.keys()
        return [PathDistribution(Place(self, named[name])) for name in chosen]

    def _as_file(self, use: "Callable[[str], object]", begin: int, end: int) -> object:
        """What `use` makes of the path of a file with this content, which is gone afterwards.  Raises ImportError."""
        content, failure = self.content[begin:end], None
        for made in _unnamed():
            try:
                descriptor = made()
            except OSError as error:
                failure = failure or error
                continue
            try:
                written = 0
                while written < len(content):
                    written += posix.write(descriptor, content[written:])
                # The C library does not open a path again that it has loaded from; descriptors' numbers come again.
                self._files += 1
                return use(f"/proc/self/fd/{'./' * self._files}{descriptor}")
            except (ImportError, OSError) as error:
                failure = failure or error
            finally:
                posix.close(descriptor)
        raise ImportError(f"this host loads no library from memory, nor from a file without a name: {failure}")


def _unnamed() -> "Iterator[Callable[[], int]]":
    """The ways to open a file that lies in no folder, for writing and for the loader."""
    yield lambda: posix.memfd_create("tinkbox", MFD_CLOEXEC | MFD_NOEXEC_SEAL)
    yield lambda: posix.memfd_create("tinkbox", MFD_CLOEXEC)
    for folder in FOLDERS:
        yield lambda folder=folder: posix.open(folder, posix.O_TMPFILE | posix.O_RDWR | posix.O_CLOEXEC, 0o600)


class Place:
    """A file or folder of data, as importlib.resources.abc.Traversable."""

    def __init__(self, carried: Carried, path: str) -> None:
        self._carried = carried
        self._path = path
        self.name = path.rpartition("/")[2]

    def files(self) -> "Place":
        """As importlib.resources.abc.TraversableResources."""
        return self

    def iterdir(self) -> "Iterator[Place]":
        below = f"{self._path}/"
        names = {path[len(below) :].partition("/")[0] for path in self._carried.data if path.startswith(below)}
        return (self / name for name in sorted(names))

    def joinpath(self, *names: str) -> "Place":
        return Place(self._carried, "/".join((self._path, *names)))

    def __truediv__(self, name: str) -> "Place":
        return self.joinpath(name)

    def is_file(self) -> bool:
        return self._path in self._carried.data

    def is_dir(self) -> bool:
        return any(self.iterdir())

    def read_bytes(self) -> bytes:
        """Raises FileNotFoundError."""
        if not self.is_file():
            from errno import ENOENT

            raise FileNotFoundError(ENOENT, "this program does not carry it", self._path)
        begin, end = self._carried.data[self._path]
        return bytes(self._carried.content[begin:end])

    def read_text(self, encoding: str | None = None) -> str:
        return self.read_bytes().decode(encoding or "utf-8")

    def open(self, mode: str = "r", encoding: str | None = None) -> object:
        from io import BytesIO, StringIO

        return BytesIO(self.read_bytes()) if "b" in mode else StringIO(self.read_text(encoding))


def start() -> None:
    """Run tinkbox; does not return."""
    import _carried  # which main.c makes

    sys.meta_path.insert(0, Carried(_carried.content, _carried.load))
    sys.frozen = True  # as packers of Python programs say it
    from tinkbox.cli import main

    sys.exit(main())
