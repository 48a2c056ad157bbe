"""Where `tinkbox init` looks for what a release brings."""

import argparse
from pathlib import Path

import pytest

from tinkbox.cli.nouns.init_steps import _files
from tinkbox.setup import placing


@pytest.mark.parametrize("program", ["dist/tinkbox", None])
def test_a_checkout_has_it_in_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str | None) -> None:
    monkeypatch.setattr(placing, "running_program", lambda: tmp_path / program if program else None)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "build" / "images").mkdir(parents=True)
    (tmp_path / "build" / "images" / "reboot.tar").touch()
    assert _files(argparse.Namespace(files=None)).images == (tmp_path / "build" / "images" / "reboot.tar",)
