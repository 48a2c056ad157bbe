import gc
import os
import signal
import tempfile
from collections.abc import Generator, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from _pytest.terminal import TerminalReporter
from hypothesis import settings
from xdist.remote import Producer
from xdist.workermanage import NodeManager, WorkerController

from examples.lab.network import Network
from tests import durations, rotation
from tests.integration.docker_engine import DockerEngine, docker_engine_in
from tests.processes import BothEnds, how_many, place_in_order

# No deadline: a machine that is busy with virtual machines takes its time.
settings.register_profile("quick", deadline=None, print_blob=True)
settings.register_profile("deep", deadline=None, print_blob=True, max_examples=100_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


# Seconds for each process, when the tests are interrupted, to take down engines and machines.
NodeManager.EXIT_TIMEOUT = 20.0


def pytest_xdist_auto_num_workers() -> int:
    return how_many()


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> BothEnds | None:
    if config.getoption("dist") != "loadfile":
        return None
    config.option.loadscopereorder = False  # by the number of tests would be virtual machines last
    return BothEnds(config, log)


SHARED = pytest.StashKey["tempfile.TemporaryDirectory[str]"]()


def pytest_configure(config: pytest.Config) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # So a shell starts what is to run in the background, and every program under test would be as deaf to Ctrl-C.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if not hasattr(config, "workerinput"):
        config.stash[SHARED] = tempfile.TemporaryDirectory(prefix="tinkbox-tests-")


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: WorkerController) -> None:
    node.workerinput["shared"] = node.config.stash[SHARED].name


def pytest_unconfigure(config: pytest.Config) -> None:
    if SHARED in config.stash:
        config.stash[SHARED].cleanup()


def pytest_report_header() -> str:
    return rotation.told()


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    reports = [
        each for found in terminalreporter.stats.values() for each in found if isinstance(each, pytest.TestReport)
    ]
    if not reports:
        return
    terminalreporter.section("time")
    for line in durations.account(reports):
        terminalreporter.write_line(line)
    if taken := sorted({each.nodeid for each in reports if "rotating" in each.keywords}):
        terminalreporter.section(rotation.told())
        for test in taken:
            terminalreporter.write_line(test)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is collected stays: Python does not search it for garbage, neither again and again while it grows nor later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if hasattr(config, "workerinput"):  # one of several processes
        items.sort(key=lambda item: place_in_order(item.nodeid))


@pytest.fixture(scope="module", autouse=True)
def open_sockets() -> Iterator[None]:
    """Sockets that a module leaves open fail its own last test, not that of another one in which Python finds them by chance."""
    before = _open_sockets()
    yield
    if _open_sockets() > before:
        gc.collect()


def _open_sockets() -> int:
    found = 0
    for each in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            found += str(each.readlink()).startswith("socket:")
    return found


@pytest.fixture(scope="session")
def shared_folder(request: pytest.FixtureRequest) -> Path:
    """A folder of this run that all its processes see; it goes with the run."""
    worker = getattr(request.config, "workerinput", None)
    return Path(worker["shared"] if worker else request.config.stash[SHARED].name)


@pytest.fixture(scope="session")
def docker_engine() -> Iterator[DockerEngine]:
    """The session's own Docker engine: `.url`, `.cli(*arguments)`, `.restart()`, `.kill()` and `.start()`."""
    with docker_engine_in() as engine:
        yield engine


@pytest.fixture(scope="session")
def network_of_engine() -> Iterator[Network]:
    """The network namespace in which `bridged_engine` lives."""
    with Network() as network:
        yield network


@pytest.fixture(scope="session")
def bridged_engine(network_of_engine: Network) -> Iterator[DockerEngine]:
    """Another engine of the session's own, which may make bridges for containers."""
    with docker_engine_in(network=network_of_engine.path) as engine:
        yield engine
