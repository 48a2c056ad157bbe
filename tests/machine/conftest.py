from collections.abc import Generator
from pathlib import Path

import pytest

from tests.machine.lab import open_labs, shell_image


@pytest.fixture(scope="session")
def shell_archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The image that the short actions of these tests run from."""
    return shell_image(tmp_path_factory.mktemp("shell"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Tell with every failure what appliance and machines said last."""
    report = yield
    if report.failed:
        report.sections += [("lab", lab.account()) for lab in open_labs]
    return report
