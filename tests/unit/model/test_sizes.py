"""Numbers of bytes as people write them."""

import pytest

from tinkbox.model.errors import Invalid
from tinkbox.model.sizes import parse_size, show_size


@pytest.mark.parametrize(
    ("text", "size"),
    [("512MiB", 512 << 20), ("1.5GiB", 3 << 29), ("64 KiB", 64 << 10), ("2TiB", 2 << 40)],
)
def test_size_has_a_unit_or_is_bytes(text: str, size: int) -> None:
    assert parse_size(text) == size
    assert show_size(size) == text.replace(" ", "")


def test_bytes_are_read_without_a_unit_and_shown_with_it() -> None:
    assert parse_size("900") == 900
    assert [show_size(size) for size in (0, 1, 900)] == ["0 bytes", "1 byte", "900 bytes"]


@pytest.mark.parametrize(
    ("text", "size"), [("512m", 512 << 20), ("1.5g", 3 << 29), ("64kb", 64 << 10), ("2gb", 2 << 30)]
)
def test_size_may_be_written_as_dockers(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "MiB", "-1", "1.5", "12 parsecs", "1MB", "1e9", "²MiB"])
def test_anything_else_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(Invalid, match="write 512MiB"):
        parse_size(text)
