"""The words by which a template names a disk."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkbox.model.disks.selection import Key, Pick, Size, Text, parse_disk_size, parse_selection
from tinkbox.model.errors import Invalid

GB, GIB = 10**9, 1 << 30


def test_a_path_is_taken_as_it_is() -> None:
    for path in ("/dev/vda", "/dev/disk/by-id/nvme-x", "/dev/mapper/a b"):
        assert (parse_selection(path).path, parse_selection(path).text) == (path, path)


@pytest.mark.parametrize("word", list(Pick))
def test_one_word_picks_among_all(word: Pick) -> None:
    selection = parse_selection(f" {word} ")
    assert (selection.pick, selection.text, selection.texts, selection.sizes) == (word, word, (), ())


def test_capitals_count_for_nothing() -> None:
    assert parse_selection("SMALLEST").pick is Pick.SMALLEST
    selection = parse_selection("Serial=S3Z1 SIZE>=200g ROTATIONAL=No Largest")
    assert (selection.pick, selection.rotational, len(selection.sizes)) == (Pick.LARGEST, False, 1)
    assert selection.texts == (Text(key=Key.SERIAL, pattern="S3Z1"),)


def test_conditions_and_a_last_word_are_one_selection() -> None:
    selection = parse_selection("size>=200G   rotational=no\nsize<=1T model='a b*' smallest")
    assert selection.text == "size>=200G rotational=no size<=1T model='a b*' smallest"
    assert (selection.rotational, selection.pick) == (False, Pick.SMALLEST)
    assert selection.texts == (Text(key=Key.MODEL, pattern="a b*"),)
    assert selection.sizes == (Size(least=198 * GB), Size(most=1010 * GB))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no disk is named: expected the disk's path below /dev"),
        ("sda", "'sda': expected the disk's path below /dev, such as /dev/sda, or smallest"),
        ("/etc/passwd", "expected the disk's path below /dev"),
        ("/dev", "expected the disk's path below /dev"),
        ("/dev/../etc/passwd", "expected the disk's path below /dev"),
        ("/dev/sda/", "expected the disk's path below /dev"),
        ("/dev/a\0b", "expected the disk's path below /dev"),
        ("x" * 200, "in at most 199 letters"),
        ("smalest", "did you mean smallest?"),
        ("serail=x", "a disk has no serail; did you mean serial?"),
        ("vendor=x", "a disk has no vendor; known here: serial, wwn, model, size, rotational, name, transport"),
        ("serial", "serial lacks its value, as in serial=S3Z1"),
        ("serial=", "serial= lacks its value"),
        ("serial>=x", "serial>= means nothing; write serial="),
        ("size>200G", "size> means nothing; write size>=, size<= or size="),
        ("size>=20X", "'20X' is no size of a disk: write 200G, 1.5TB, 186GiB, or plain bytes"),
        ("size>=1.5", "is no size of a disk"),
        ("rotational=maybe", "rotational is yes or no, not 'maybe'"),
        ("serial=a serial=b", "serial is given twice"),
        ("rotational=no rotational=yes", "rotational is given twice"),
        ("smallest serial=a", "smallest is the last word, behind the conditions"),
        ("serial=a only", "only stands alone"),
        ('model="a', "a quotation mark is missing"),
        ("model=Samsung SSD", 'a value with a blank stands in quotation marks: model="Samsung SSD"'),
        ("size>=200 G", 'a value with a blank stands in quotation marks: size>="200 G"'),
    ],
)
def test_what_means_no_disk_is_refused_with_what_is_expected(text: str, problem: str) -> None:
    with pytest.raises(Invalid) as refused:
        parse_selection(text)
    assert problem in str(refused.value)


@pytest.mark.parametrize(
    ("text", "size", "exact"),
    [
        ("200G", 200 * GB, False), ("200GB", 200 * GB, False), ("200 gb", 200 * GB, False), ("200GiB", 200 * GIB, False),
        ("1.5T", 1500 * GB, False), ("0.5TiB", 512 * GIB, False), ("512", 512, True), ("512B", 512, True), ("7P", 7 * 10**15, False),
    ],
)  # fmt: skip
def test_a_size_is_read_as_it_is_printed_on_disks(text: str, size: int, exact: bool) -> None:
    assert parse_disk_size(text) == (size, exact)


@pytest.mark.parametrize(
    ("text", "size", "fits"),
    [
        ("size>=200G", 200_049_647_616, True), ("size<=200G", 200_049_647_616, True), ("size=200G", 200_049_647_616, True),
        ("size>=200G", 199 * GB, True), ("size>=200G", 190 * GB, False), ("size<=200G", 214 * GB, False),
        ("size=200G", 186 * GB, False), ("size=20GiB", 20 * GIB, True), ("size=20G", 20 * GIB, False),
        ("size=1000", 1000, True), ("size=1000", 1001, False), ("size>=1000", 999, False),
    ],
)  # fmt: skip
def test_a_size_with_a_unit_is_meant_to_one_percent(text: str, size: int, fits: bool) -> None:
    assert all(each.fits(size) for each in parse_selection(text).sizes) is fits


@pytest.mark.parametrize(
    ("text", "value", "fits"),
    [
        ("serial=abc", "ABC", True), ("serial=a_b", "A  B", True), ("serial=ab*", "ABC", True), ("serial=ab", "ABC", False),
        ("serial=*", "x", True), ("serial=a*c*e", "abcde", True), ("serial=a*e*c", "abcde", False), ("serial=ab*ba", "aba", False),
        ("wwn=0x5000C5", "5000c5", True), ("wwn=naa.5000c5", "5000c5", True), ("wwn=wwn-0x5000c5", "5000c5", True),
        ("name=nvme*", "nvme0n1", True), ("name=NVME*", "nvme0n1", False), ("transport=SATA", "sata", True),
    ],
)  # fmt: skip
def test_a_text_fits_without_capitals_and_with_stars(text: str, value: str, fits: bool) -> None:
    (condition,) = parse_selection(text).texts
    assert condition.fits(value) is fits
    assert not condition.fits("")


@given(st.text(max_size=60))
def test_any_text_means_something_or_is_refused(text: str) -> None:
    with suppress(Invalid):
        selection = parse_selection(text)
        assert parse_selection(selection.text).text == selection.text
