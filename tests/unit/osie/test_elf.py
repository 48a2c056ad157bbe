import shutil
import subprocess
from pathlib import Path

import pytest

from tests.unit.osie.elves import AARCH64, elf
from tinkbox.osie.elf import is_elf, machine, needed


def test_the_names_of_libraries_are_read_wherever_the_program_is_mapped() -> None:
    assert needed(elf("libc.so.6", "libdl.so.2")) == ("libc.so.6", "libdl.so.2")
    assert needed(elf()) == ()


def test_a_real_program_is_linked_with_what_its_loader_says() -> None:
    shell = Path(shutil.which("sh") or "")
    listed = subprocess.run(["ldd", shell], check=True, capture_output=True, text=True).stdout
    assert needed(shell.read_bytes())
    assert all(name in listed for name in needed(shell.read_bytes()))


def test_the_processor_is_told() -> None:
    assert machine(elf(machine=AARCH64)) == AARCH64


def test_a_script_is_no_program_of_the_processor(tmp_path) -> None:
    for name, content in {"script": b"#!/bin/sh\n", "empty": b"", "program": elf()}.items():
        (tmp_path / name).write_bytes(content)
    assert [name for name in ("script", "empty", "program") if is_elf(tmp_path / name)] == ["program"]


@pytest.mark.parametrize("length", [0, 4, 40, 63, 100, 170, len(elf("libc.so.6")) - 12, len(elf("libc.so.6")) - 1])
def test_a_file_that_is_cut_off_is_refused(length) -> None:
    with pytest.raises(ValueError, match="ELF"):
        needed(elf("libc.so.6")[:length])
