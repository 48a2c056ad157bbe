"""What is started to take a disk image apart."""

from collections.abc import Callable

from tests.unit.cli.conftest import Printed

Tinkbox = Callable[..., Printed]


def test_nobody_is_told_of_it(tinkbox: Tinkbox) -> None:
    assert "--read-image" not in tinkbox("--help").out
