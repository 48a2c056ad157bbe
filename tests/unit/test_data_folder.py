"""What is missing of a data folder that had an appliance."""

from pathlib import Path

from tinkbox.appliance import BOOT_KEY, REGISTRY
from tinkbox.data_folder import missing_registry


def test_a_registry_that_is_gone_is_told_unless_the_folder_is_new(tmp_path: Path) -> None:
    assert not list(missing_registry(tmp_path))
    (tmp_path / BOOT_KEY).write_text("key")
    (line,) = missing_registry(tmp_path)
    assert f"its folder {REGISTRY} is gone" in line
    (tmp_path / REGISTRY).mkdir()
    assert not list(missing_registry(tmp_path))
