"""What is remembered of a machine's firmware."""

import pytest

from tinkbox.model.firmware_traits import FirmwareTraits, LocalBoot


def test_of_a_machine_that_was_never_seen_nothing_is_taken_for_granted() -> None:
    assert FirmwareTraits() == FirmwareTraits(secure_boot=False, local_boot=None, proven=False)


@pytest.mark.parametrize(
    ("kept", "way"),
    [
        ("exit", LocalBoot.EXIT),
        ("sanboot", LocalBoot.SANBOOT),
        ("grub", LocalBoot.GRUB),
        ("no file", LocalBoot.NO_FILE),
    ],
)
def test_ways_are_kept_and_shown_by_these_words(kept: str, way: LocalBoot) -> None:
    assert LocalBoot(kept) is way
    assert str(way) == kept
