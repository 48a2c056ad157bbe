"""Modules compiled for an image: as they will lie there, with or without what they were compiled from."""

import subprocess
import sys
from pathlib import Path

import pytest

PACKAGING = Path(__file__).parents[3] / "packaging"
TOLD = "import greeting\nprint(greeting.__file__, greeting.hello.__code__.co_filename)"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A file tree with a folder of modules, one of which is a link to a file of the host."""
    folder = tmp_path / "root" / "lib"
    folder.mkdir(parents=True)
    (folder / "greeting.py").write_text("def hello() -> None: ...\n")
    (tmp_path / "host.py").write_text("raise SystemExit('a file of the host')\n")
    (folder / "local.py").symlink_to(tmp_path / "host.py")
    return tmp_path / "root"


def compiled(root: Path, *, sources: bool) -> str:
    """What a Python says of a module in this folder, once it is compiled."""
    folder = root / "lib"
    program = f"import pathlib, bytecode; bytecode.compiled(pathlib.Path({str(folder)!r}), pathlib.Path({str(root)!r}), sources={sources})"
    subprocess.run([sys.executable, "-c", program], check=True, cwd=PACKAGING)
    return told(root)


def told(root: Path) -> str:
    asking = [sys.executable, "-B", "-c", f"import sys; sys.path.insert(0, {str(root / 'lib')!r})\n{TOLD}"]
    return subprocess.run(asking, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def test_byte_code_takes_the_place_of_its_source(root: Path) -> None:
    assert compiled(root, sources=False) == f"{root}/lib/greeting.pyc /lib/greeting.py"
    assert not (root / "lib" / "greeting.py").exists()


def test_byte_code_beside_its_source_is_used_without_a_look_at_it(root: Path) -> None:
    compiled(root, sources=True)
    (root / "lib" / "greeting.py").write_text("no Python at all")
    assert told(root) == f"{root}/lib/greeting.py {root}/lib/greeting.py"


@pytest.mark.parametrize("sources", [True, False])
def test_a_link_out_of_the_tree_is_left_as_it_is(root: Path, sources: bool) -> None:
    compiled(root, sources=sources)
    assert (root / "lib" / "local.py").is_symlink()
    assert not list(root.rglob("local*.pyc"))


def test_the_same_modules_give_the_same_bytes(root: Path) -> None:
    compiled(root, sources=False)
    first = (root / "lib" / "greeting.pyc").read_bytes()
    (root / "lib" / "greeting.py").write_text("def hello() -> None: ...\n")
    compiled(root, sources=False)
    assert (root / "lib" / "greeting.pyc").read_bytes() == first
