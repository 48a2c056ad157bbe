from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.cli.serving import Configuration, configure, serving
from tests.integration.cli.shell_lab import ShellLab


@pytest.fixture(scope="module")
def appliance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Configuration]:
    """An appliance that the tests of one file share."""
    configuration = configure(tmp_path_factory.mktemp("appliance"))
    with serving(configuration):
        yield configuration


@pytest.fixture
def shells(tmp_path: Path) -> Iterator[ShellLab]:
    """An appliance and a machine at a breakpoint, of a test's own."""
    with ShellLab(tmp_path) as lab:
        yield lab
