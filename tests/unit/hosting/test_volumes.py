from pathlib import Path

import pytest

from tinkbox.hosting.volumes import real_folders
from tinkbox.model.errors import Conflict, Unavailable
from tinkbox.model.services import HostFolder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("data", "isos/sub", "out", "isos2", "run/engine"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "link").symlink_to("out")
    (tmp_path / "inside").symlink_to("isos/sub")
    (tmp_path / "file").touch()
    return tmp_path


def named(folder: Path, **paths: str) -> dict[str, HostFolder]:
    return {name: HostFolder(path=str(folder / path)) for name, path in paths.items()}


def ours(folder: Path) -> dict[str, Path]:
    return {"the data folder": folder / "data", "the container engine's socket": folder / "run/engine/docker.sock"}


def test_folders_beside_each_other_are_taken_without_links(folder: Path) -> None:
    found = real_folders(named(folder, a="isos", b="link", c="isos2"), ours(folder))
    assert {name: each.path for name, each in found.items()} == {
        "a": f"{folder}/isos", "b": f"{folder}/out", "c": f"{folder}/isos2",
    }  # fmt: skip


@pytest.mark.parametrize("paths", [{"a": "isos", "b": "isos/sub"}, {"a": "isos", "b": "inside"}, {"a": "out", "b": "link"},
                                   {"a": "data"}, {"a": "."}, {"a": "data/.."}, {"a": "run"}, {"a": "run/engine"}])  # fmt: skip
def test_none_lies_in_another_or_has_to_do_with_what_is_ours(folder: Path, paths: dict[str, str]) -> None:
    with pytest.raises(Conflict, match="name folders beside each other"):
        real_folders(named(folder, **paths), ours(folder))


@pytest.mark.parametrize(("path", "said"), [("none", "No such file"), ("file", "is no folder")])
def test_what_is_not_there_is_named(folder: Path, path: str, said: str) -> None:
    with pytest.raises(Unavailable, match=rf"services.volumes.a: .*{said}"):
        real_folders(named(folder, a=path), ours(folder))


@pytest.mark.parametrize("path", ["/proc", "/sys", "/dev", "/proc/sys", "/dev/shm", "link"])
def test_what_the_kernel_makes_is_no_volume(folder: Path, path: str) -> None:
    if path == "link":
        (folder / "kernel").symlink_to("/proc")
        path = str(folder / "kernel")
    with pytest.raises(Conflict, match=r"services\.volumes\.a: /(proc|sys|dev).* is the kernel's"):
        real_folders({"a": HostFolder(path=path)}, ours(folder))
