from collections.abc import Generator
from pathlib import Path

import pytest

from examples.lab.machine import EmulatorDied
from tests.machine.lab import open_labs, shell_image
from tests.machine.waiting import saved_once

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Once more, when the emulator itself was ended: docs/decisions/0013-emulators-that-die.md."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.flaky(reruns=1, only_rerun=[rf"^{EmulatorDied.__name__}:"]))


@pytest.fixture(scope="session")
def shell_archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The image that the short actions of these tests run from."""
    return shell_image(tmp_path_factory.mktemp("shell"))


@pytest.fixture(scope="session")
def waiting(shared_folder: Path, shell_archive: Path) -> Path:
    """The saved machines whose workers wait, for `laboratory_with`."""
    return saved_once(shared_folder, shell_archive)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Tell with every failure what appliance and machines said last."""
    report = yield
    if report.failed:
        report.sections += [("lab", lab.account()) for lab in open_labs]
    return report
