"""How far an action is, by what it writes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkbox.model.actions.progress import (
    MAX_COUNT,
    WINDOW,
    Progress,
    Sample,
    Told,
    in_words,
    paced,
    read_progress,
    with_sample,
)

MB = 10**6


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("1 4 bytes\n", Told(done=1, total=4, unit="bytes")),
        ("1 4", Told(done=1, total=4)),
        ("  1\t4   disk blocks \n", Told(done=1, total=4, unit="disk blocks")),
        ("1 4 bytes\n2 4 bytes\n", Told(done=2, total=4, unit="bytes")),
        ("1 4 bytes\n2 4 by", Told(done=1, total=4, unit="bytes")),
        ("1 4\r2 4\r", Told(done=2, total=4)),
        ("1 4\nnonsense\n\n", Told(done=1, total=4)),
        ("\0\0\x003 4\n", Told(done=3, total=4)),
        ("7 0 files\n", Told(done=7, total=0, unit="files")),
        (f"{MAX_COUNT} {MAX_COUNT}\n", Told(done=MAX_COUNT, total=MAX_COUNT)),
        (f"1 {MAX_COUNT + 1}\n", None),
        ("1 4 " + "u" * 17 + "\n", None),
        ("1 4 \x1b[31m\n", None),
        ("-1 4\n", None),
        ("1.5 4\n", None),
        ("41%\n", None),
        ("", None),
        ("\n", None),
    ],
)  # fmt: skip
def test_the_newest_line_that_means_something_counts(text: str, told: Told | None) -> None:
    assert read_progress(text) == told


@given(st.text(max_size=200))
def test_any_text_is_read(text: str) -> None:
    told = read_progress(text)
    assert told is None or (0 <= told.done <= MAX_COUNT and told.unit.isprintable())


def sampled(*samples: tuple[float, int]) -> tuple[Sample, ...]:
    kept: tuple[Sample, ...] = ()
    for at, done in samples:
        kept = with_sample(kept, Sample(at=at, done=done))
    return kept


TOLD = Told(done=60 * MB, total=100 * MB, unit="bytes")


def test_the_rate_is_that_of_the_last_seconds() -> None:
    # Slow for a minute, then 2 MB a second.
    samples = sampled(
        *((at, at * 100_000) for at in range(0, 60, 2)), *((60 + at, 20 * MB + at * 2 * MB) for at in range(0, 21, 2))
    )
    shown = paced(TOLD, samples, 80)
    assert shown == Progress(done=60 * MB, total=100 * MB, unit="bytes", rate=2.0 * MB, seconds_left=20)
    assert paced(TOLD, samples, 83).seconds_left == 17
    assert samples[0].at == 80 - WINDOW


def test_one_message_tells_no_rate() -> None:
    shown = paced(TOLD, sampled((0, 60 * MB)), 1)
    assert (shown.rate, shown.seconds_left) == (None, None)


def test_messages_that_are_far_apart_tell_one_as_well() -> None:
    samples = sampled((0, 0), (60, 30 * MB), (120, 60 * MB))
    assert paced(TOLD, samples, 130).rate == MB / 2
    assert paced(TOLD, samples, 239).rate == MB / 2
    assert paced(TOLD, samples, 241).rate == 0


def test_what_stands_still_has_no_time_left_to_tell() -> None:
    samples = sampled((0, 0), (2, MB), (4, 2 * MB))
    assert paced(TOLD, samples, 23).rate == MB / 2
    stalled = paced(TOLD, samples, 25)
    assert (stalled.rate, stalled.seconds_left) == (0.0, None)


def test_a_message_that_is_repeated_changes_nothing() -> None:
    samples = sampled((0, 0), (2, MB))
    assert with_sample(samples, Sample(at=32, done=MB)) == samples


def test_what_goes_backwards_begins_anew() -> None:
    assert sampled((0, 5), (2, 9), (4, 1)) == (Sample(at=4, done=1),)


def test_what_is_done_needs_no_time() -> None:
    shown = paced(Told(done=10, total=10), sampled((0, 0), (2, 10)), 2)
    assert (shown.rate, shown.seconds_left) == (5.0, None)


@given(st.lists(st.tuples(st.floats(0, 1000), st.integers(0, 10**12)), max_size=200))
def test_however_many_messages_come_few_are_kept(messages: list[tuple[float, int]]) -> None:
    samples = sampled(*messages)
    assert len(samples) < 3 + 2 * WINDOW
    shown = paced(Told(done=1, total=10**12), samples, 1000)
    assert shown.rate is None or shown.rate >= 0
    assert in_words(shown)


@pytest.mark.parametrize(
    ("progress", "words"),
    [
        (Progress(done=41, total=100, unit="bytes", rate=38.4 * MB, seconds_left=72), "41 %  38 MB/s  1:12 left"),
        (Progress(done=41, total=100), "41 %"),
        (Progress(done=41, total=100, unit="files", rate=0.25, seconds_left=3_672), "41 %  0.2 files/s  1:01:12 left"),
        (Progress(done=1_500_000_000, total=0, unit="bytes", rate=1_000.0), "1.5 GB  1 kB/s"),
        (Progress(done=7, total=0, unit="files", rate=0.0), "7 files  0 files/s"),
        (Progress(done=7, total=0), "7"),
        (Progress(done=12, total=10, unit="x"), "100 %"),
    ],
)
def test_it_is_shown_in_words(progress: Progress, words: str) -> None:
    assert in_words(progress) == words
