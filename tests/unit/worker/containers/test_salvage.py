"""How much may be copied to hold it, and under which name."""

import pytest

from tinkbox.model.images.references import parse_reference
from tinkbox.worker.containers.salvage import copy_of, limit

MEMORY = "MemTotal:       24684144 kB\nMemFree:         100 kB\nMemAvailable:     {} kB\nBuffers:           300 kB\n"


@pytest.mark.parametrize(
    ("available", "bytes_"),
    [(300, 100 * 1024), (24_000_000, 512 * 1024 * 1024), (1_572_864, 512 * 1024 * 1024), (0, 0)],
)
def test_a_third_of_the_memory_may_be_copied_but_not_more_than_512_mib(available: int, bytes_: int) -> None:
    assert limit(MEMORY.format(available)) == bytes_


def test_a_kernel_that_does_not_say_lets_nothing_be_copied() -> None:
    assert limit("MemTotal: 24684144 kB\n") == 0


def test_every_attempt_has_an_image_name_of_its_own() -> None:
    names = {copy_of(attempt) for attempt in ("attempt-1", "ATTEMPT-1", "ünsafe/:@ name", "x" * 500)}
    assert len(names) == 4
    for name in names:
        assert parse_reference(name).repository == "tinkbox-breakpoint"
        assert parse_reference(name).tag
