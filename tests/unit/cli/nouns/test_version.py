from collections.abc import Callable

import pytest

import tinkbox as program
from tests.unit.cli.conftest import Printed

NOUNS = ["serve", "hardware", "template", "workflow", "image", "osie", "events", "status", "version"]


@pytest.mark.parametrize("arguments", [["version"], ["--version"]])
def test_the_version_is_one_line(tinkbox: Callable[..., Printed], arguments: list[str]) -> None:
    printed = tinkbox(*arguments)
    assert (printed.status, printed.out, printed.err) == (0, f"tinkbox {program.__version__}\n", "")


@pytest.mark.parametrize("arguments", [[], ["--help"]])
def test_help_mentions_every_noun(tinkbox: Callable[..., Printed], arguments: list[str]) -> None:
    printed = tinkbox(*arguments)
    assert printed.status == 0
    first_words = [line.split()[0] for line in printed.out.splitlines() if line.startswith("    ")]
    assert [word for word in first_words if word in NOUNS] == NOUNS
    assert "--worker" in printed.out
