import pytest

from tinkbox.model.errors import Unavailable
from tinkbox.osie.programs import environment, run


def test_other_programs_get_the_environment_that_we_have() -> None:
    got = environment({"LD_LIBRARY_PATH": "/opt/lib", "HOME": "/root", "LC_ALL": "de_DE.UTF-8"})
    assert (got["LD_LIBRARY_PATH"], got["HOME"], got["LC_ALL"]) == ("/opt/lib", "/root", "C")


def test_messages_are_in_english(monkeypatch) -> None:
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    assert run(["sh", "-c", "echo $LC_ALL"]).stdout == "C\n"


def test_status_and_words_come_back() -> None:
    answer = run(["sh", "-c", "echo no >&2; exit 3"])
    assert (answer.returncode, answer.stderr) == (3, "no\n")


def test_a_missing_program_is_named() -> None:
    with pytest.raises(Unavailable, match="no frobnicate here"):
        run(["frobnicate"])
