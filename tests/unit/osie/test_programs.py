import pytest

from tinkbox.model.errors import Unavailable
from tinkbox.osie.programs import environment, run


def test_other_programs_do_not_get_the_packed_executables_libraries() -> None:
    assert "LD_LIBRARY_PATH" not in environment({"LD_LIBRARY_PATH": "/tmp/_MEI1"})


def test_other_programs_get_the_library_path_they_had() -> None:
    got = environment({"LD_LIBRARY_PATH": "/tmp/_MEI1:/opt/lib", "LD_LIBRARY_PATH_ORIG": "/opt/lib", "HOME": "/root"})
    assert got["LD_LIBRARY_PATH"] == "/opt/lib"
    assert "LD_LIBRARY_PATH_ORIG" not in got
    assert got["HOME"] == "/root"


def test_messages_are_in_english(monkeypatch) -> None:
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    assert run(["sh", "-c", "echo $LC_ALL"]).stdout == "C\n"


def test_status_and_words_come_back() -> None:
    answer = run(["sh", "-c", "echo no >&2; exit 3"])
    assert (answer.returncode, answer.stderr) == (3, "no\n")


def test_a_missing_program_is_named() -> None:
    with pytest.raises(Unavailable, match="no frobnicate here"):
        run(["frobnicate"])
