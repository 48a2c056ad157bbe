"""Paths are cleaned as Go cleans them, which is not as Python does."""

from hypothesis import given
from hypothesis import strategies as st

from tinkbox.sprig.text.paths import FUNCTIONS, base, clean, directory, extension


def test_names_of_the_root_and_of_nothing() -> None:
    assert [base(each) for each in ("", "/", "///", "a/b//")] == [".", "/", "/", "b"]
    assert [clean(each) for each in ("", "//a/./b/..", "/../x", "../..", "a/..")] == [".", "/a", "/x", "../..", "."]
    assert [directory(each) for each in ("", "a", "/a", "a/b/c")] == [".", ".", "/", "a/b"]
    assert [extension(each) for each in ("a.tar.gz", ".bashrc", "a.b/c", "a.")] == [".gz", ".bashrc", "", "."]


@given(st.text("a./", max_size=12))
def test_cleaning_twice_changes_nothing_more(path: str) -> None:
    assert clean(clean(path)) == clean(path)
    assert FUNCTIONS["isAbs"](clean(path)) == path.startswith("/")


def test_the_system_has_the_same_paths() -> None:
    for name in ("base", "dir", "clean", "ext", "isAbs"):
        assert FUNCTIONS[f"os{name[0].upper()}{name[1:]}"]("/a//b.c") == FUNCTIONS[name]("/a//b.c")
