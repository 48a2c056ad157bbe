from pathlib import Path

import pytest

from tests.unit.osie.elves import elf
from tinkbox.model.errors import Unavailable
from tinkbox.osie.libraries import closure


@pytest.fixture
def folders(tmp_path) -> list[Path]:
    """liba needs libb, which needs liba again; libown is brought by the program itself."""
    made = [tmp_path / "first", tmp_path / "second"]
    for folder in made:
        folder.mkdir()
    (made[0] / "liba.so").write_bytes(elf("libb.so"))
    (made[1] / "libb.so").write_bytes(elf("liba.so"))
    (made[1] / "liba.so").write_bytes(elf("libnowhere.so"))
    return made


def program(tmp_path: Path, *needed: str) -> Path:
    path = tmp_path / "program"
    path.write_bytes(elf(*needed))
    return path


def test_what_libraries_need_comes_along_and_the_first_folder_wins(tmp_path, folders) -> None:
    found = closure([program(tmp_path, "liba.so")], folders, (), {})
    assert found == {"liba.so": folders[0] / "liba.so", "libb.so": folders[1] / "libb.so"}


def test_what_is_wanted_always_comes_and_what_is_there_does_not(tmp_path, folders) -> None:
    found = closure([program(tmp_path, "libown.so")], folders, ["libb.so"], {"libown.so": tmp_path})
    assert found.keys() == {"liba.so", "libb.so"}


def test_all_that_is_missing_is_named_with_whose_it_is(tmp_path, folders) -> None:
    with pytest.raises(
        Unavailable, match=r"lack libraries: libnowhere\.so of liba\.so, libodd\.so of program, libz\.so$"
    ):
        closure([program(tmp_path, "liba.so", "libodd.so")], folders[::-1], ["libz.so"], {})


def test_a_library_that_is_none_is_named(tmp_path, folders) -> None:
    (folders[0] / "liba.so").write_text("nonsense")
    with pytest.raises(Unavailable, match=r"liba\.so is no ELF file"):
        closure([program(tmp_path, "liba.so")], folders, (), {})
