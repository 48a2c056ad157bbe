"""A configuration file with some text, read."""

from dataclasses import replace
from pathlib import Path

import pytest

from tinkbox.model.errors import Invalid
from tinkbox.settings import load
from tinkbox.settings.all_settings import Settings


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "tinkbox.yaml"
    path.write_text(text)
    return path


def loaded(tmp_path: Path, text: str) -> Settings:
    return load(written(tmp_path, text), data=tmp_path)


def problems_of(tmp_path: Path, text: str) -> list[str]:
    """What is wrong with each key, without the line that it stands on (see test_file.py)."""
    with pytest.raises(Invalid) as refusal:
        load(written(tmp_path, text))
    return [str(replace(problem, line=None)) for problem in refusal.value.problems]
