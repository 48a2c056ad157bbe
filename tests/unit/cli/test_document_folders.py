"""Files and folders that `apply` reads; a folder may come from a stranger."""

import errno
import io
import os
import sys
from pathlib import Path

import pytest

from tinkbox.cli import document_folders
from tinkbox.cli.document_folders import read_sources
from tinkbox.model.applying import MAX_APPLIED
from tinkbox.model.errors import Invalid, NotFound, TooLarge


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "site"
    (made / "racks" / "one").mkdir(parents=True)
    (made / ".git").mkdir()
    for name in ("b.yaml", "a.yml", "c.json", "readme.md", ".hidden.yaml", "kustomization.yaml"):
        (made / name).write_text(name)
    for name in ("racks/d.yaml", "racks/one/e.yaml", ".git/f.yaml"):
        (made / name).write_text(name)
    return made


def read(*sources: Path | str, recursive: bool = False) -> list[str]:
    return list(read_sources([str(each) for each in sources], recursive=recursive).texts.values())


def test_a_folder_is_its_documents_in_order(folder: Path) -> None:
    assert read(folder) == ["a.yml", "b.yaml", "c.json"]
    assert read(folder, recursive=True) == ["a.yml", "b.yaml", "c.json", "racks/d.yaml", "racks/one/e.yaml"]


def test_folders_that_are_not_read_are_told_where_they_have_documents(folder: Path) -> None:
    (folder / "notes").mkdir()
    (folder / "notes" / "readme.md").write_text("no document")
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "deep" / "er" / "x.json").write_text("{}")
    source = str(folder)
    assert read_sources([source, source], recursive=False).skipped == [folder / "deep", folder / "racks"]
    assert read_sources([source], recursive=True).skipped == []
    assert read_sources([str(folder / "a.yml")], recursive=False).skipped == []


def test_several_sources_are_read_each_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"piped")))
    assert read(folder / "readme.md", "-", folder, folder / "a.yml") == [
        "readme.md",
        "piped",
        "a.yml",
        "b.yaml",
        "c.json",
    ]


def test_a_link_within_the_folder_is_followed_and_one_that_leads_out_is_refused(folder: Path, tmp_path: Path) -> None:
    (folder / ".z").write_text("hidden")
    (folder / "z.yaml").symlink_to(".z")
    assert read(folder)[-1] == "hidden"
    (tmp_path / "secret").write_text("secret")
    (folder / "y.yaml").symlink_to("../secret")
    with pytest.raises(Invalid, match=r"y\.yaml is a link that leads out"):
        read(folder)


def test_a_file_is_read_once_by_whatever_names(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its own, where it has links too: read twice, all that it declares would be declared twice."""
    (folder / "0.yaml").symlink_to("b.yaml")
    (folder / "racks" / "0.yaml").symlink_to("../b.yaml")
    monkeypatch.chdir(folder)
    named = read_sources([".", str(folder), "0.yaml"], recursive=True).texts
    assert list(named) == ["a.yml", "b.yaml", "c.json", "racks/d.yaml", "racks/one/e.yaml"]
    assert list(read_sources(["0.yaml", "racks/0.yaml"], recursive=False).texts) == ["0.yaml"]


def test_a_folder_that_is_linked_to_is_not_entered(folder: Path) -> None:
    (folder / "racks" / "around").symlink_to("..")
    assert len(read(folder, recursive=True)) == 5


def test_a_link_that_cannot_be_followed_is_told_as_a_folder_that_cannot_be_read(folder: Path) -> None:
    (folder / "dangling").symlink_to("nowhere")
    (folder / "racks" / "loop").symlink_to("loop")
    with pytest.raises(NotFound, match=r"^cannot read .*/site/racks/loop: Too many levels of symbolic links$"):
        read(folder, recursive=True)
    (folder / "racks" / "loop").unlink()
    (folder / "racks" / "long").symlink_to("x" * 300)
    with pytest.raises(NotFound, match=r"^cannot read .*/site/racks/long: File name too long$"):
        read(folder, recursive=True)
    (folder / "racks" / "long").unlink()
    assert len(read(folder, recursive=True)) == 5


def test_a_link_that_cannot_be_followed_hides_no_other_folder(folder: Path) -> None:
    """`--prune` is refused for these."""
    (folder / "loop").symlink_to("loop")
    found = read_sources([str(folder)], recursive=False)
    assert (len(found.texts), found.skipped) == (3, [folder / "racks"])


@pytest.mark.parametrize("recursive", [False, True])
def test_a_document_that_is_a_link_in_a_circle_is_told_among_the_others(folder: Path, recursive: bool) -> None:
    (folder / "loop.yaml").symlink_to("loop.yaml")
    (folder / "latin.yaml").write_bytes(b"name: \xfc\n")
    with pytest.raises(Invalid, match="2 files cannot be read") as refused:
        read(folder, recursive=recursive)
    assert str(refused.value.problems[1]) == f"cannot read {folder}/loop.yaml: Too many levels of symbolic links"


def test_a_source_that_cannot_be_looked_at_is_told() -> None:
    with pytest.raises(Invalid) as refused:
        read("x" * 300)
    assert str(refused.value.problems[0]) == f"cannot read {'x' * 300}: File name too long"


def test_a_link_that_cannot_be_read_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As those are that /proc has of other users' processes."""
    (folder / "x.yaml").symlink_to("b.yaml")

    def readlink(_: str) -> str:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "readlink", readlink)
    assert read(folder / "x.yaml") == ["b.yaml"]
    with pytest.raises(Invalid, match=r"x\.yaml is a link that leads out"):
        read(folder)


def test_devices_and_pipes_without_a_writer_are_refused(folder: Path) -> None:
    (folder / "x.yaml").symlink_to("/dev/zero")
    with pytest.raises(Invalid):
        read(folder)
    (folder / "x.yaml").unlink()
    os.mkfifo(folder / "x.yaml")
    with pytest.raises(Invalid) as refused:
        read(folder)
    assert "pipe that nothing writes to" in str(refused.value.problems[0])
    with pytest.raises(Invalid) as refused:
        read("/dev/zero")
    assert str(refused.value.problems[0]) == "cannot read /dev/zero: it is no file"


def test_every_file_that_cannot_be_read_is_told(folder: Path) -> None:
    (folder / "big.yaml").write_bytes(b"#" * (MAX_APPLIED + 1))
    (folder / "latin.yaml").write_bytes(b"name: \xfc\n")
    (folder / "gone.yaml").symlink_to("nowhere")
    with pytest.raises(Invalid, match="nothing was applied: 3 files cannot be read") as refused:
        read(folder)
    assert [str(each) for each in refused.value.problems] == [
        f"{folder}/big.yaml: it has more than 16 MiB: split it",
        f"cannot read {folder}/gone.yaml: it is a link to nowhere, and there is no such file",
        f"{folder}/latin.yaml is not UTF-8 text",
    ]


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("a.yaml,b.yaml", "one -f names one file, and several may be given: -f a.yaml -f b.yaml"),
        ("https://example.org/a.yaml", "nothing is downloaded. Pipe it: curl -fsSL URL | tinkbox apply -f -"),
    ],
)
def test_what_kubectl_takes_there_is_told_with_what_to_type(source: str, told: str) -> None:
    with pytest.raises(Invalid) as refused:
        read_sources([source], recursive=False)
    assert str(refused.value.problems[0]).endswith(told)
    assert str(refused.value.problems[0]).startswith(f"cannot read {source}: ")


@pytest.mark.parametrize("named", [False, True])
def test_a_file_of_several_names_is_read_once(folder: Path, *, named: bool) -> None:
    (folder / "z.yaml").hardlink_to(folder / "b.yaml")
    (folder / "y.yaml").symlink_to("z.yaml")
    sources = [str(folder / "b.yaml"), str(folder / "z.yaml")] if named else [str(folder)]
    found = read_sources(sources, recursive=False).texts
    assert str(folder / "b.yaml") in found
    assert not {str(folder / "y.yaml"), str(folder / "z.yaml")} & set(found)


def test_too_much_of_standard_input_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_folders, "MAX_APPLIED", 4)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"piped")))
    with pytest.raises(Invalid) as refused:
        read("-")
    assert str(refused.value.problems[0]).startswith("standard input: it has more than")


def test_a_file_whose_name_is_no_text_is_named(folder: Path) -> None:
    """In bytes that are no UTF-8 it could not be told to the appliance."""
    for name in (b"b\xff.yaml", b"ok.yaml"):
        (folder / os.fsdecode(name)).write_text("x")
    (folder / os.fsdecode(b"d\xfe")).mkdir()
    (folder / os.fsdecode(b"d\xfe") / "ok.yaml").write_text("x")
    with pytest.raises(Invalid, match="nothing was applied: 2 files cannot be read") as refused:
        read(folder, recursive=True)
    assert [str(each) for each in refused.value.problems] == [
        f"{folder}/b\\xff.yaml: its name is not UTF-8: rename it",
        f"{folder}/d\\xfe/ok.yaml: its name is not UTF-8: rename it",
    ]


def test_too_many_files_and_too_much_of_them_are_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_folders, "MAX_FILES", 2)
    with pytest.raises(TooLarge, match="apply them in parts"):
        read(folder)
    monkeypatch.undo()
    monkeypatch.setattr(document_folders, "MAX_APPLIED", 12)
    with pytest.raises(TooLarge, match="apply them in parts"):
        read(folder)


def test_files_of_editors_on_windows_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("ü", "utf-8-sig")
    (tmp_path / "b.yaml").write_text("ü", "utf-16")
    assert read(tmp_path) == ["ü", "ü"]


def test_files_of_windows_that_were_put_together_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("\ufeffa: 1\n---\n\ufeffb: \ufeff\n", "utf-8")
    assert read(tmp_path) == ["a: 1\n---\nb: \ufeff\n"]


def test_nothing_to_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"^no \.yaml, \.yml, \.json in [^,]*$"):
        read(tmp_path)
    for name in "abcdef":
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.yaml").write_text("x")
    where = ", ".join(str(tmp_path / name) for name in "abcde")
    with pytest.raises(NotFound, match=f"but documents in {where} and 1 more: -R also reads the folders within"):
        read(tmp_path)
    with pytest.raises(Invalid) as refused:
        read(tmp_path / "nope")
    assert "No such file" in str(refused.value.problems[0])
