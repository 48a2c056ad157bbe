from pathlib import Path

import pytest

from tests.unit.osie.elves import AARCH64 as ARM
from tests.unit.osie.elves import elf
from tests.unit.osie.test_tree import unpacked
from tinkbox.model.errors import Invalid, NotFound
from tinkbox.osie.architectures import AARCH64, X86_64
from tinkbox.osie.executable import Executable
from tinkbox.osie.tree import Tree


def made(folder: Path, **files: bytes) -> Path:
    for name, content in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        path.chmod(0o755)
    return folder


def laid(executable: Executable) -> set[str]:
    tree = Tree()
    executable.lay(tree)
    return {path for path, entry in unpacked(b"".join(tree.archive())).items() if entry.content}


def test_one_file_becomes_the_worker_and_brings_what_it_is_linked_with(tmp_path) -> None:
    path = made(tmp_path, tinkbox=elf("libz.so.1")) / "tinkbox"
    executable = Executable(path, X86_64)
    assert laid(executable) == {"usr/bin/tinkbox"}
    assert executable.linked == ()


def test_a_folder_is_laid_over_the_osie_and_says_what_it_is_linked_with(tmp_path) -> None:
    folder = made(
        tmp_path, usr__bin__tinkbox=b"#!/bin/sh\n", usr__bin__python=elf("libz.so.1", machine=ARM), usr__lib__a=b"a"
    )
    (folder / "usr" / "bin" / "link").symlink_to("python")
    executable = Executable(folder, AARCH64)
    assert laid(executable) == {"usr/bin/tinkbox", "usr/bin/python", "usr/lib/a"}
    assert executable.linked == (folder / "usr" / "bin" / "python",)


def test_what_is_for_another_processor_is_refused(tmp_path) -> None:
    with pytest.raises(Invalid, match=r"tinkbox is for another processor than aarch64 \(ELF machine 62\)"):
        Executable(made(tmp_path, tinkbox=elf()) / "tinkbox", AARCH64)
    folder = made(tmp_path / "tree", usr__bin__tinkbox=b"#!/bin/sh\n", usr__lib__odd=elf(machine=ARM))
    with pytest.raises(Invalid, match="odd is for another processor than x86_64"):
        Executable(folder, X86_64)


def test_where_neither_is_there_it_says_how_to_make_one(tmp_path) -> None:
    with pytest.raises(NotFound, match=r"make binary.*make worker-aarch64"):
        Executable(tmp_path, AARCH64)
