"""What packaging gathers for arm64: the pinned loader, and a worker of several files."""

import hashlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "packaging"))  # for what its programs share


def program(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"packaging_{name}", ROOT / "packaging" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def ipxe(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """packaging/ipxe.py, for which the package holds one word."""
    module = program("ipxe")
    monkeypatch.setattr(module, "SHA256", hashlib.sha256(b"loader").hexdigest())
    return module


def pool(folder: Path, content: bytes, name: str) -> str:
    folder.mkdir()
    (folder / name).write_bytes(content)
    return folder.as_uri()


def test_only_the_pinned_package_is_taken_whoever_serves_it(ipxe: ModuleType, tmp_path: Path) -> None:
    other = pool(tmp_path / "other", b"another loader", "ipxe.deb")
    right = pool(tmp_path / "right", b"loader", "ipxe.deb")
    path = ipxe.cached(tmp_path / "ipxe.deb", (f"{tmp_path.as_uri()}/nowhere", other, right))
    assert path.read_bytes() == b"loader"


def test_a_package_that_is_there_is_not_fetched_again_unless_it_is_damaged(ipxe: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "ipxe.deb").write_bytes(b"loader")
    assert ipxe.cached(tmp_path / "ipxe.deb", ()) == tmp_path / "ipxe.deb"
    (tmp_path / "ipxe.deb").write_bytes(b"load")
    with pytest.raises(LookupError):
        ipxe.cached(tmp_path / "ipxe.deb", ())


def test_where_nobody_has_it_everybody_who_was_asked_is_named(ipxe: ModuleType, tmp_path: Path) -> None:
    other = pool(tmp_path / "other", b"another loader", "ipxe.deb")
    with pytest.raises(LookupError, match=r"nowhere: .*; .*other: another file of that name"):
        ipxe.cached(tmp_path / "ipxe.deb", (f"{tmp_path.as_uri()}/nowhere", other))
    assert not (tmp_path / "ipxe.deb").exists()


def test_the_worker_brings_the_sources_and_their_byte_code_for_its_own_place(tmp_path: Path) -> None:
    worker = program("worker")
    module = tmp_path / worker.PLACE / "tinkbox" / "one.py"
    module.parent.mkdir(parents=True)
    module.write_text("NAME = __file__\n")
    worker.compiled(tmp_path / worker.PLACE, tmp_path, sources=True)
    (compiled,) = module.parent.rglob("*.pyc")
    code = compiled.read_bytes()
    assert code[4:8] == b"\x01\0\0\0", "unchecked: nobody compares it with its source"
    assert f"/{worker.PLACE}/tinkbox/one.py".encode() in code
    assert str(tmp_path).encode() not in code


def test_the_launcher_runs_tinkbox_from_where_it_lies_and_nothing_of_the_folder_it_is_started_in() -> None:
    worker = program("worker")
    assert f"PYTHONPATH=/{worker.PLACE} " in worker.LAUNCHER
    assert worker.LAUNCHER.rstrip().endswith(f'{worker.PYTHON} -s -P -m tinkbox "$@"')
