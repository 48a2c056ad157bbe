"""What a test run says of its time at the end: the slowest tests, and the seconds of each folder.  Pure.

Seconds are those of the tests themselves, with what was set up and taken down for them; several processes run at once,
so their sum is more than what a person waits.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Final, Protocol

SHOWN: Final = 20
# tests/unit/wire/dhcp/test_packets.py::test_a: its folder is the first three words.
DEPTH: Final = 3


class Timed(Protocol):
    """One phase of a test, as pytest reports it."""

    @property
    def nodeid(self) -> str: ...
    @property
    def duration(self) -> float: ...


def seconds_of_tests(reports: Iterable[Timed]) -> dict[str, float]:
    """Test -> seconds, its set-up and its end included, the slowest first."""
    found: defaultdict[str, float] = defaultdict(float)
    for report in reports:
        found[report.nodeid] += report.duration
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def seconds_of_folders(tests: Mapping[str, float]) -> dict[str, tuple[float, int]]:
    """Folder -> seconds and number of its tests, the slowest first."""
    seconds: defaultdict[str, float] = defaultdict(float)
    number: defaultdict[str, int] = defaultdict(int)
    for test, took in tests.items():
        folder = "/".join(test.partition("::")[0].split("/")[:-1][:DEPTH])
        seconds[folder] += took
        number[folder] += 1
    return {folder: (seconds[folder], number[folder]) for folder in sorted(seconds, key=lambda each: -seconds[each])}


def account(reports: Iterable[Timed]) -> Iterator[str]:
    """The lines that the run ends with."""
    tests = seconds_of_tests(reports)
    yield f"the {min(SHOWN, len(tests))} slowest tests:"
    yield from (f"{took:9.1f} s  {test}" for test, took in islice(tests.items(), SHOWN))
    yield "each folder:"
    yield from (
        f"{took:9.1f} s  {folder} ({number} {'test' if number == 1 else 'tests'})"
        for folder, (took, number) in seconds_of_folders(tests).items()
    )
    yield f"{sum(tests.values()):9.1f} s  in all"
