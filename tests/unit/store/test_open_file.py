"""Whether a database's path still leads to what is open."""

from pathlib import Path

import pytest

from tinkbox.model.errors import Unavailable
from tinkbox.store.open_file import DatabaseFile


def test_a_file_that_is_deleted_or_replaced_is_missed_and_refused(tmp_path: Path) -> None:
    path = tmp_path / "tinkbox.sqlite"
    path.write_bytes(b"one")
    with path.open("rb") as opened:
        file = DatabaseFile(path)
        assert file.lost() is None
        file.refuse_lost()
        path.unlink()
        lost = file.lost()
        assert lost is not None
        assert not lost.replaced
        assert [(ending, Path(at).name) for ending, at in lost.open_files] == [("", str(opened.fileno()))]
        with pytest.raises(Unavailable, match="was deleted while tinkbox runs"):
            file.refuse_lost()
        path.write_bytes(b"two")
        replaced = file.lost()
        assert replaced is not None
        assert replaced.replaced
        with pytest.raises(Unavailable, match="was replaced by another file"):
            file.refuse_lost()
