"""What the executable of one file carries, and how it is found there: packaging/onefile, without linking a program."""

import importlib.util
import marshal
import os
import sys
from collections.abc import Iterator
from importlib import import_module, metadata, resources
from pathlib import Path
from types import ModuleType
from typing import Any

import multidict._multidict
import pytest

from tests.unit.osie.elves import elf

ONEFILE = Path(__file__).parents[3] / "packaging" / "onefile"


def script(name: str) -> ModuleType:
    """A program of packaging/ as a module; it is in no package."""
    spec = importlib.util.spec_from_file_location(f"onefile_{name}", ONEFILE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look for it there
    spec.loader.exec_module(module)
    return module


pack, carried = script("pack"), script("carried")


def code(place: str, text: str) -> tuple[str, bytes]:
    return place, marshal.dumps(compile(text, place, "exec"))


CODE = {
    "ferry": code("ferry/__init__.py", "from ferry.deck import cars"),
    "ferry.deck": code("ferry/deck.py", "cars = 7\ndef sink():\n    raise OSError('down')"),
    "encodings.cp437": code("encodings/cp437.py", ""),
}


class Crew:
    """What is carried, on `sys.meta_path`, and what was asked to be loaded as a library."""

    def __init__(self, folder: Path) -> None:
        files = {}
        for place in ("ferry/menu/soup.txt", "ferry/menu/wine/red.bin", "tea_pot-4.18.dist-info/METADATA"):
            files[place] = folder / place.replace("/", "_")
            files[place].write_text("Name: tea-pot\nVersion: 4.18\n" if "METADATA" in place else place)
        extension = Path(str(multidict._multidict.__file__)).read_bytes()
        linked = pack.Binaries({"ferry._multidict": ("ferry/_multidict.so", extension)}, {})
        made = pack.gather(CODE, linked, files)
        made.needs = {"ferry._multidict": ["libone.so", "libtwo.so"]}
        made.libraries = {name: made.add(name.encode()) for name in ("libone.so", "libtwo.so")}
        self.loaded: list[bytes] = []
        self.paths: list[str] = []
        self.finder = carried.Carried(memoryview(made.index + made.content), self._load)

    def _load(self, path: str) -> None:
        self.paths.append(path)
        self.loaded.append(Path(path).read_bytes())


@pytest.fixture
def crew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Crew]:
    crew = Crew(tmp_path)
    monkeypatch.setattr(sys, "meta_path", [crew.finder, *sys.meta_path])
    yield crew
    for name in [name for name in sys.modules if name.partition(".")[0] == "ferry"]:
        del sys.modules[name]


def test_packages_and_modules_are_imported_from_memory(crew: Crew) -> None:
    ferry = import_module("ferry")
    assert ferry.cars == 7
    assert ferry.__file__ == f"{sys.executable}/ferry/__init__.py"
    assert ferry.__spec__ is not None
    assert ferry.__spec__.submodule_search_locations == [f"{sys.executable}/ferry"]


def test_a_traceback_names_the_module(crew: Crew) -> None:
    with pytest.raises(OSError, match="down") as failure:
        import_module("ferry.deck").sink()
    assert str(failure.traceback[-1].path).endswith("ferry/deck.py")


def test_what_is_not_carried_is_looked_for_elsewhere(crew: Crew) -> None:
    assert crew.finder.find_spec("ferry.sail") is None
    with pytest.raises(ModuleNotFoundError, match=r"ferry\.sail"):
        import_module("ferry.sail")


def test_data_is_read_as_the_data_of_a_package(crew: Crew) -> None:
    import_module("ferry")
    menu = resources.files("ferry") / "menu"
    assert [each.name for each in menu.iterdir()] == ["soup.txt", "wine"]
    assert (menu.is_dir(), menu.is_file()) == (True, False)
    assert (menu / "soup.txt").read_text() == "ferry/menu/soup.txt"
    assert menu.joinpath("wine", "red.bin").read_bytes() == b"ferry/menu/wine/red.bin"
    with (menu / "soup.txt").open() as soup:
        assert soup.read(5) == "ferry"


def test_data_that_is_missing_is_named(crew: Crew) -> None:
    import_module("ferry")
    with pytest.raises(FileNotFoundError) as missing:
        (resources.files("ferry") / "menu" / "bread").read_bytes()
    assert missing.value.filename == "ferry/menu/bread"


def test_packages_tell_their_versions(crew: Crew) -> None:
    assert metadata.version("tea-pot") == "4.18"


def test_an_extension_module_is_loaded_behind_its_libraries_which_are_loaded_once(crew: Crew) -> None:
    before = set(os.listdir("/proc/self/fd"))  # noqa: PTH208
    extension: Any = import_module("ferry._multidict")
    assert extension.MultiDict(a=1)["a"] == 1
    assert crew.loaded == [b"libone.so", b"libtwo.so"]
    assert len(set(crew.paths)) == 2  # the loader takes a path that it knows for what it has loaded
    crew.finder.create_module(extension.__spec__)
    assert len(crew.loaded) == 2
    assert set(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


class Forbidding:
    """A `posix` in which memory is no file, as seccomp or SELinux can have it."""

    def __init__(self) -> None:
        self.tried: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def memfd_create(self, name: str, flags: int) -> int:
        self.tried.append(name)
        raise PermissionError(13, "Permission denied")

    def open(self, path: str, flags: int, mode: int) -> int:
        self.tried.append(path)
        return os.open(path, flags, mode)


def test_where_memory_is_no_file_a_file_without_a_name_is_loaded(
    crew: Crew, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    forbidding = Forbidding()
    monkeypatch.setattr(carried, "posix", forbidding)
    monkeypatch.setattr(carried, "FOLDERS", (str(tmp_path / "missing"), str(tmp_path)))
    before = sorted(tmp_path.iterdir())
    assert import_module("ferry._multidict").MultiDict(a=1)["a"] == 1
    assert forbidding.tried[-2:] == [str(tmp_path / "missing"), str(tmp_path)]
    assert sorted(tmp_path.iterdir()) == before


def test_a_host_that_forbids_all_of_it_is_told_why(crew: Crew, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(carried, "posix", Forbidding())
    monkeypatch.setattr(carried, "FOLDERS", (str(tmp_path / "missing"),))
    with pytest.raises(ImportError, match=r"this host loads no library from memory.*Permission denied"):
        import_module("ferry._multidict")


def test_python_finds_its_encodings_before_it_can_ask_anybody(tmp_path: Path) -> None:
    made = pack.gather(CODE, pack.Binaries({}, {}), {})
    _, _, begin, end = made.modules["encodings.cp437"]
    table = pack.frozen(made, 11)
    assert f'{{.name = "encodings.cp437", .code = (const unsigned char *)carried + {len(made.index) + begin}' in table
    assert f".size = {end - begin}, .is_package = 0}}" in table
    assert '{.name = "carried", .code = (const unsigned char *)first, .size = 11}' in table
    assert "ferry" not in table


def test_libraries_come_behind_those_that_they_need_themselves() -> None:
    libraries = {"libssl.so": elf("libcrypto.so", "libc.so.6"), "libcrypto.so": elf("libc.so.6")}
    assert pack.in_order("_ssl", elf("libssl.so", "libcrypto.so", "libc.so.6"), libraries) == [
        "libcrypto.so",
        "libssl.so",
    ]


def test_a_library_that_is_neither_carried_nor_every_hosts_ends_the_build() -> None:
    with pytest.raises(SystemExit, match=r"_odd is linked with libodd\.so\.1"):
        pack.in_order("_odd", elf("libodd.so.1"), {})


def test_a_namespace_and_a_package_get_their_places(tmp_path: Path) -> None:
    for path in ("deck.py", "__init__.py"):
        (tmp_path / path).write_text("")
    found = [
        ("a", "-", "PYMODULE"),
        ("a.b", str(tmp_path / "__init__.py"), "PYMODULE"),
        ("a.b.deck", str(tmp_path / "deck.py"), "PYMODULE"),
    ]
    places = {name: place for name, (place, _) in pack.compiled(found).items()}
    assert places == {"a": "a/__init__.py", "a.b": "a/b/__init__.py", "a.b.deck": "a/b/deck.py"}
