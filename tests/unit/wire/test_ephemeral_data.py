import contextlib
import io
import tarfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkbox.model.errors import Invalid, TooLarge
from tinkbox.wire.ephemeral_data import Entry, check, decode, encode, fingerprint, overlaid
from tinkbox.wire.ephemeral_limits import MAX_ARCHIVE_BYTES, MAX_DATA_BYTES, MAX_DEPTH

NAMES = st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=40).filter(
    lambda name: name not in (".", "..")
)
FILES = st.builds(lambda mode, content: {"mode": mode, "content": content}, st.integers(0, 0o777), st.binary())
LINKS = st.builds(lambda link: {"link": link}, NAMES)


@st.composite
def folders(draw: st.DrawFn) -> list[Entry]:
    """The entries of a folder, one level deep: files, links, directories and what is in them."""
    entries = []
    for name, kind in draw(st.dictionaries(NAMES, st.sampled_from(("file", "link", "folder")), max_size=6)).items():
        if kind == "folder":
            entries.append(Entry(path=name, mode=draw(st.integers(0, 0o777))))
            inner = draw(st.dictionaries(NAMES, FILES, max_size=3))
            entries += [Entry(path=f"{name}/{inside}", **options) for inside, options in inner.items()]
        else:
            entries.append(Entry(path=name, **draw(FILES if kind == "file" else LINKS)))
    return entries


def tar(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for header, content in members:
            archive.addfile(header, io.BytesIO(content))
    return buffer.getvalue()


def member(name: str, kind: bytes = tarfile.REGTYPE, *, link: str = "", size: int = 0) -> tuple[tarfile.TarInfo, bytes]:
    header = tarfile.TarInfo(name)
    header.type, header.linkname, header.size = kind, link, size
    return header, b"x" * size


@given(folders())
def test_what_is_packed_comes_out_as_it_was(entries: list[Entry]) -> None:
    assert decode(encode(entries)) == sorted(entries, key=lambda entry: entry.path)


def tree(entries: list[Entry]) -> dict[str, Entry]:
    return {entry.path: entry for entry in entries}


@given(folders(), folders())
def test_what_lies_above_is_right_wherever_two_folders_disagree(below: list[Entry], above: list[Entry]) -> None:
    both = overlaid(below, above)
    assert decode(encode(both)) == sorted(both, key=lambda entry: entry.path), "it is a folder again"
    found, over, under = tree(both), tree(above), tree(below)
    assert over.items() <= found.items()
    assert found.items() <= {**under, **over}.items()
    for path in under.keys() - found.keys():
        blocked = [each for each in over if path.startswith(f"{each}/") or each.startswith(f"{path}/")]
        assert blocked, f"{path} is lost without need"


@pytest.mark.parametrize(
    ("below", "above", "left"),
    [
        ({"a": b"1", "b": b"1"}, {"b": b"2"}, {"a": b"1", "b": b"2"}),
        ({"a/x": b"1", "a/y/z": b"1", "ab": b"1"}, {"a": b"2"}, {"a": b"2", "ab": b"1"}),
        ({"a": b"1"}, {"a/y/z": b"2"}, {"a/y/z": b"2"}),
        ({"a/y": b"1", "a/x": b"1"}, {"a/y/z": b"2"}, {"a/x": b"1", "a/y/z": b"2"}),
        ({"a": None, "a/x": b"1"}, {"a/z": b"2"}, {"a": None, "a/x": b"1", "a/z": b"2"}),
        ({"a/x": b"1"}, {"a": None}, {"a": None, "a/x": b"1"}),
    ],
)
def test_a_file_takes_the_place_of_a_folder_and_a_folder_that_of_a_file(
    below: dict[str, bytes | None], above: dict[str, bytes | None], left: dict[str, bytes | None]
) -> None:
    lower, upper = ([Entry(path=path, content=content) for path, content in each.items()] for each in (below, above))
    assert {entry.path: entry.content for entry in overlaid(lower, upper)} == left


@given(folders(), folders())
def test_a_fingerprint_tells_everything_but_the_path(some: list[Entry], others: list[Entry]) -> None:
    for one in some:
        for other in others:
            same = (one.mode, one.content, one.link) == (other.mode, other.content, other.link)
            assert (fingerprint(one) == fingerprint(other)) == same


def test_a_link_is_no_file_that_says_the_same() -> None:
    found = [
        fingerprint(each)
        for each in (
            Entry(path="a", content=b""),
            Entry(path="a"),
            Entry(path="a", link=""),
            Entry(path="a", link="b"),
            Entry(path="a", content=b">b"),
            Entry(path="a", content=b"b"),
        )
    ]
    assert len(set(found)) == len(found)


@given(folders(), st.randoms())
def test_the_same_files_make_the_same_bytes_in_whatever_order(entries: list[Entry], random: object) -> None:
    shuffled = list(entries)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert encode(shuffled) == encode(entries)


def test_no_files_make_no_bytes() -> None:
    assert encode([]) == b""
    assert decode(b"") == []


@given(st.binary(max_size=2048))
def test_any_bytes_are_an_archive_or_refused(archive: bytes) -> None:
    with contextlib.suppress(Invalid):
        decode(archive)


@given(folders(), st.integers(0, 4096), st.integers(0, 255))
def test_a_byte_changed_on_the_way_is_read_or_refused(entries: list[Entry], place: int, value: int) -> None:
    archive = bytearray(encode(entries))
    if archive:
        archive[place % len(archive)] = value
    with contextlib.suppress(Invalid, TooLarge):
        decode(bytes(archive))


def test_no_archive_makes_a_file_that_runs_as_its_owner() -> None:
    file, folder = member("program"), member("folder", tarfile.DIRTYPE)
    file[0].mode = folder[0].mode = 0o7755
    assert [entry.mode for entry in decode(tar(file, folder))] == [0o755, 0o755]


@pytest.mark.parametrize("name", ["/etc/passwd", "../up", "a/../../up", "..", ".", "./", "a/.."])
def test_what_would_leave_the_folder_is_refused(name: str) -> None:
    with pytest.raises(Invalid, match="would leave its folder"):
        decode(tar(member(name)))


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.REGTYPE])
def test_nothing_is_written_through_a_link_or_into_a_file(kind: bytes) -> None:
    with pytest.raises(Invalid, match="'out/deep/passwd' is said to be in what is no folder"):
        decode(tar(member("out", kind, link="/etc"), member("out/deep/passwd", size=3)))
    assert decode(tar(member("out", tarfile.DIRTYPE), member("out/deep/passwd")))
    assert decode(tar(member("out", kind, link="/etc"), member("outer/passwd")))


def test_a_path_that_no_system_takes_is_refused() -> None:
    for length, taken in ((3072, True), (3073, False)):
        name = "/".join(["a" * 127] * 32)[: length - 1].ljust(length, "b")
        assert len(name) == length
        with contextlib.nullcontext() if taken else pytest.raises(Invalid, match="cannot be written"):
            decode(tar(member(name)))


@pytest.mark.parametrize("letter", ["a", "ä"])
def test_a_name_that_no_system_takes_is_refused(letter: str) -> None:
    most = 255 // len(letter.encode())
    assert decode(tar(member(f"folder/{letter * most}")))
    with pytest.raises(Invalid, match="cannot be written: a name has at most 255 bytes"):
        decode(tar(member(f"folder/{letter * (most + 1)}/file")))


@pytest.mark.parametrize("link", ["", "a" * 4096])
def test_a_link_that_no_system_takes_is_refused(link: str) -> None:
    with pytest.raises(Invalid, match="the link 'it' cannot be written"):
        decode(tar(member("it", tarfile.SYMTYPE, link=link)))


@pytest.mark.parametrize("kind", [tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE, tarfile.LNKTYPE])
def test_devices_pipes_and_hard_links_are_refused(kind: bytes) -> None:
    with pytest.raises(Invalid, match="neither file, directory nor link"):
        decode(tar(member("thing", kind, link="other")))


def test_too_much_is_refused_with_the_names_of_the_largest() -> None:
    entries = [Entry(path="small", content=b"1"), Entry(path="large", content=b"x" * MAX_DATA_BYTES)]
    with pytest.raises(TooLarge, match=f"largest: large \\({MAX_DATA_BYTES} bytes\\), small"):
        encode(entries)
    assert decode(encode(entries[1:])) == entries[1:]


def test_many_small_files_are_measured_by_what_they_take() -> None:
    with pytest.raises(TooLarge, match="as an archive"):
        encode(Entry(path=str(number), content=b"x") for number in range(MAX_ARCHIVE_BYTES // 1024))


def test_an_archive_over_the_limit_is_not_even_read() -> None:
    with pytest.raises(TooLarge):
        decode(b"x" * (MAX_ARCHIVE_BYTES + 1))


def test_a_sparse_file_that_says_it_is_huge_takes_no_memory() -> None:
    header, _ = member("bomb", tarfile.GNUTYPE_SPARSE)
    block = bytearray(header.tobuf(tarfile.GNU_FORMAT))
    block[483:495] = b"77777777777\0"  # the real size of a sparse file, in the header's old GNU place
    block[148:156] = b" " * 8
    block[148:156] = f"{sum(block[:512]):06o}\0 ".encode()
    with pytest.raises(Invalid, match="sparse"):
        decode(bytes(block) + bytes(1024))


def test_a_sparse_file_that_a_pax_header_describes_is_refused() -> None:
    header, content = member("f", size=1024)
    header.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": "f"}
    with pytest.raises(Invalid, match="sparse"):
        check(tar((header, content)))


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK])
def test_large_headers_are_refused_before_they_are_read(kind: bytes) -> None:
    with pytest.raises(Invalid, match="a header of the archive has 20000 bytes"):
        check(tar(member("h", kind, size=20_000), member("f")))


@pytest.mark.parametrize("kind", [tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.XHDTYPE])
def test_a_negative_size_is_refused_and_not_read_for_ever(kind: bytes) -> None:
    header, _ = member("f", kind)
    header.size = -1024
    with pytest.raises(Invalid, match="-1024 bytes"):
        check(tar(member("a"))[:512] + header.tobuf(tarfile.GNU_FORMAT) + bytes(1024))


def test_a_path_that_is_there_twice_is_refused() -> None:
    link = member("a", tarfile.SYMTYPE, link="/etc/passwd")
    for members in ((link, member("a")), (member("a"), member("a", tarfile.DIRTYPE)), (member("a/b"), link)):
        with pytest.raises(Invalid):
            check(tar(*members))
    check(tar(member("a", tarfile.DIRTYPE), member("a", tarfile.DIRTYPE)))


def test_folders_may_be_nested_as_deep_as_a_worker_packs_them() -> None:
    deep = "d/" * MAX_DEPTH
    for taken in (member(deep + "f"), member(deep, tarfile.DIRTYPE)):
        check(tar(taken))
    for refused in (member(deep + "d/f"), member(deep + "d", tarfile.DIRTYPE)):
        with pytest.raises(Invalid, match="nested more than 64 deep"):
            check(tar(refused))


@pytest.mark.parametrize("archive", [b"", bytes(1024), bytes(10240)])
def test_an_empty_archive_is_an_archive(archive: bytes) -> None:
    check(archive)
    assert decode(archive) == []
