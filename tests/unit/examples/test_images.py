import hashlib
import importlib.util
import io
import json
import os
import sys
import tarfile
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def images() -> ModuleType:
    spec = importlib.util.spec_from_file_location("images", ROOT / "packaging" / "images.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["images"] = module
    spec.loader.exec_module(module)
    return module


def tree(root: Path, names: list[str]) -> Path:
    root.mkdir()
    for name in names:
        (root / name).write_text(f"content of {name}")
        (root / name).chmod(0o755 if name == "program" else 0o644)
    (root / "link").symlink_to("program")
    os.link(root / "program", root / "another-name")
    return root


def test_a_layer_depends_on_content_and_modes_only(images: ModuleType, tmp_path: Path) -> None:
    one = tree(tmp_path / "one", ["program", "data"])
    other = tree(tmp_path / "other", ["data", "program"])
    os.utime(other / "data", (1, 1))
    os.chown(other / "data", 1000, 1000)
    layers = [images.layer(root, images.everything(root)) for root in (one, other)]
    assert layers[0] == layers[1]
    with tarfile.open(fileobj=io.BytesIO(layers[0])) as tar:
        members = {member.name: member for member in tar}
        assert set(members) == {"program", "data", "link", "another-name"}
        assert (members["program"].mode, members["program"].uid, members["program"].mtime) == (0o755, 0, 0)
        assert members["link"].linkname == "program"
        for name in ("program", "another-name"):
            content = tar.extractfile(name)
            assert content is not None
            assert content.read() == b"content of program"


def test_the_archive_is_what_docker_save_writes(images: ModuleType, tmp_path: Path) -> None:
    image = images.declaration(ROOT / "examples" / "actions" / "reboot")
    images.save([b"a layer"], image, tmp_path / "reboot.tar")
    with tarfile.open(tmp_path / "reboot.tar") as tar:
        files = {member.name: tar.extractfile(member).read() for member in tar}  # type: ignore[union-attr]
    (manifest,) = json.loads(files["manifest.json"])
    configuration = json.loads(files[manifest["Config"]])
    assert manifest["RepoTags"] == ["reboot:v1"]
    assert [files[name] for name in manifest["Layers"]] == [b"a layer"]
    assert configuration["rootfs"]["diff_ids"] == [f"sha256:{hashlib.sha256(b'a layer').hexdigest()}"]
    assert configuration["config"]["Entrypoint"][0] == "/bin/busybox"
    assert configuration["architecture"] == "amd64"


@pytest.mark.parametrize("name", ["install-image", "image2disk", "writefile", "reboot", "kexec"])
def test_every_declaration_names_files_that_are_there(images: ModuleType, name: str) -> None:
    image = images.declaration(ROOT / "examples" / "actions" / name)
    assert image.reference == f"{name}:v1"
    assert all(file.is_file() for file in image.files)
    assert {f"/action/{file.name}" for file in image.files} & set(image.entrypoint)


@pytest.mark.parametrize("name", ["image2disk", "writefile"])
def test_older_names_are_install_image_started_by_another_file(images: ModuleType, name: str) -> None:
    image, whole = (images.declaration(ROOT / "examples" / "actions" / each) for each in (name, "install-image"))
    assert image.content == whole.content
    assert image.entrypoint != whole.entrypoint
    assert image.content != images.declaration(ROOT / "examples" / "actions" / "kexec").content


def test_pattern_that_means_no_file_is_an_error(images: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"there is no \*\.py"):
        images.matching(tmp_path, "*.py")


def test_an_image_for_another_processor_says_so(images: ModuleType, tmp_path: Path) -> None:
    image = images.declaration(ROOT / "examples" / "actions" / "reboot", images.architecture("aarch64"))
    images.save([images.layer(tree(tmp_path / "root", ["program"]), [])], image, tmp_path / "reboot.tar")
    with tarfile.open(tmp_path / "reboot.tar") as archive:
        (configuration,) = (
            member for member in archive if member.name != "manifest.json" and member.name.endswith(".json")
        )
        content = archive.extractfile(configuration)
        assert content is not None
        assert json.load(content)["architecture"] == "arm64"
    assert images.declaration(ROOT / "examples" / "actions" / "reboot").architecture == "amd64"


def test_pruning_leaves_what_an_image_keeps(images: ModuleType, tmp_path: Path) -> None:
    folder = tmp_path / "usr" / "sbin"
    folder.parent.mkdir()
    tree(folder, ["program", "data"])
    (tmp_path / "sbin").symlink_to("usr/sbin")
    images.prune(folder, {folder / "data"})
    images.prune(tmp_path / "sbin", {folder / "data"})
    assert [path.name for path in folder.iterdir()] == ["data"]
    assert not (tmp_path / "sbin").is_symlink()
    images.prune(folder, set())
    assert not folder.exists()
