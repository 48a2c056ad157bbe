from dataclasses import dataclass

from tests.durations import account, seconds_of_folders, seconds_of_tests


@dataclass
class Phase:
    nodeid: str
    duration: float


QUICK, SLOW = "tests/unit/wire/dhcp/test_packets.py::test_a", "tests/machine/test_demo.py::test_b[bios/uefi]"
PHASES = [Phase(QUICK, 0.25), Phase(SLOW, 30.0), Phase(SLOW, 12.5), Phase("tests/unit/wire/deep/test_c.py::test", 0.5)]


def test_setting_up_a_test_counts_as_its_time() -> None:
    assert next(iter(seconds_of_tests(PHASES).items())) == (SLOW, 42.5)


def test_folders_are_summed_and_the_slowest_comes_first() -> None:
    folders = seconds_of_folders(seconds_of_tests(PHASES))
    assert list(folders.items()) == [("tests/machine", (42.5, 1)), ("tests/unit/wire", (0.75, 2))]


def test_twenty_tests_are_shown_and_every_folder() -> None:
    many = [Phase(f"tests/unit/{number}/test_a.py::test", number) for number in range(30)]
    shown = list(account(many))
    assert next(line for line in shown if "::" in line).endswith("tests/unit/29/test_a.py::test")
    assert len([line for line in shown if "::" in line]) == 20
    assert len([line for line in shown if "(1 test)" in line]) == 30
