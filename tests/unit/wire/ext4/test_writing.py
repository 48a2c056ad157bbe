"""The ext4 file systems that we make, as e2fsprogs sees them."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.file_systems import check, debugfs, dumped, lay, run
from tinkbox.model.errors import Invalid
from tinkbox.wire.ext4 import planning, records
from tinkbox.wire.ext4.planning import plan
from tinkbox.wire.ext4.records import Identity
from tinkbox.wire.ext4.tree import Kind, Node, Segment, file, find, folder, put
from tinkbox.wire.ext4.writing import Read, pieces

AT: Final = 1_700_000_000
WHO: Final = Identity(uuid=UUID(int=7 << 100), hash_seed=UUID(int=8 << 90), label=b"lab", moment=AT)
MIB: Final = 1 << 20


def nothing(place: int, length: int) -> bytes:
    raise AssertionError("no segment")


def made(root: Node, path: Path, read: Read = nothing) -> Path:
    """The file system of a tree, checked."""
    root.names = 1
    planned = plan(root)
    lay(path, pieces(planned, WHO, read))
    assert path.stat().st_size == planned.size
    check(path)
    return path


def tree(**children: Node) -> Node:
    root = folder(modified=AT)
    for name, node in children.items():
        put(root, name.encode(), node)
    return root


def stat(path: Path, name: str) -> str:
    return debugfs(path, f"stat {name}").decode()


def test_files_and_folders_are_there_with_what_they_hold(tmp_path: Path) -> None:
    etc = tree(hostname=file(b"lab\n"), empty=file(b""), large=file(bytes(range(256)) * 5000))
    root = tree(
        etc=etc, bin=Node(kind=Kind.LINK, content=b"usr/bin"), far=Node(kind=Kind.LINK, content=b"x/" * 200 + b"y")
    )
    out = dumped(made(root, tmp_path / "root.ext4"), tmp_path / "out")
    assert (out / "etc/hostname").read_bytes() == b"lab\n"
    assert (out / "etc/empty").read_bytes() == b""
    assert (out / "etc/large").read_bytes() == bytes(range(256)) * 5000
    assert (str((out / "bin").readlink()), str((out / "far").readlink())) == ("usr/bin", "x/" * 200 + "y")
    told = run("dumpe2fs", "-h", tmp_path / "root.ext4")
    assert f"Filesystem UUID:          {WHO.uuid}" in told
    assert "Filesystem volume name:   lab" in told
    features = (
        "has_journal ext_attr resize_inode dir_index filetype extent 64bit flex_bg sparse_super large_file "
        "huge_file dir_nlink extra_isize metadata_csum"
    )
    assert features in told


def test_owners_rights_devices_and_times_are_kept_whoever_made_it(tmp_path: Path) -> None:
    sudo = file(b"sudo", 0o4755)
    sudo.user, sudo.group, sudo.modified = 70_000, 100_000, (1 << 31) + 5
    root = tree(
        sudo=sudo,
        null=Node(kind=Kind.CHARACTER_DEVICE, permissions=0o666, device=(1, 3)),
        disk=Node(kind=Kind.BLOCK_DEVICE, permissions=0o660, device=(259, 70_000)),
        pipe=Node(kind=Kind.PIPE, permissions=0o600),
    )
    path = made(root, tmp_path / "root.ext4")
    told = stat(path, "/sudo")
    assert re.search(r"Mode:  04755", told)
    assert re.search(r"User: 70000 +Group: 100000", told)
    # In 2038, as the kernel reads it ("Inode Timestamps"); debugfs 1.47.2 says 2174.
    assert re.search(r"mtime: 0x80000005:0*1 ", told), told
    assert "Device major/minor number: 01:03" in stat(path, "/null")
    assert "Device major/minor number: 259:70000" in stat(path, "/disk")
    assert "Type: FIFO" in stat(path, "/pipe")


def test_attributes_are_kept_in_the_inode_or_in_a_block(tmp_path: Path) -> None:
    ping, many = file(b"ping"), file(b"many")
    capability = bytes.fromhex("0100000200200000000000000000000000000000")
    ping.attributes = {b"security.capability": capability}
    access = bytes.fromhex("0200000001000700ffffffff02000500e803000004000500ffffffff10000500ffffffff20000500ffffffff")
    many.attributes = {
        b"user.large": b"v" * 3000,
        b"user.a\xff": b"",
        b"trusted.x": b"y",
        b"system.posix_acl_access": access,
    }
    path = made(tree(ping=ping, many=many), tmp_path / "root.ext4")
    assert capability.hex(" ").encode() in debugfs(path, "ea_list /ping")
    assert "File ACL: 0\n" in stat(path, "/ping")
    listed = debugfs(path, "ea_list /many")
    assert b"user.large (3000)" in listed
    assert b'trusted.x (1) = "y"' in listed
    assert b"system.posix_acl_access (28) = 01 00 00 00 01 00 07 00 02 00 05 00 e8 03" in listed


def test_second_names_are_the_same_file(tmp_path: Path) -> None:
    one = file(b"content")
    root = tree(one=one, sub=tree(two=one))
    put(root, b"three", one)
    path = made(root, tmp_path / "root.ext4")
    assert "Links: 3" in stat(path, "/one")
    assert len({re.search(r"Inode: (\d+)", stat(path, name))[1] for name in ("/one", "/sub/two", "/three")}) == 1  # type: ignore[index]


def test_a_folder_of_many_files(tmp_path: Path) -> None:
    many = folder()
    for number in range(3000):
        put(many, b"a file with a longer name, number %d" % number, file(b"%d" % number))
    path = made(tree(many=many), tmp_path / "root.ext4")
    assert debugfs(path, 'cat "/many/a file with a longer name, number 2999"') == b"2999"


@pytest.mark.campaign
def test_a_folder_of_more_folders_than_are_counted(tmp_path: Path) -> None:
    deep = folder()
    for number in range(records.MOST_NAMES + 10):
        put(deep, b"%d" % number, folder())
    path = made(tree(deep=deep), tmp_path / "root.ext4")
    assert "Links: 1 " in stat(path, "/deep")


def pattern(place: int, length: int) -> bytes:
    """What a source of any length has at each place: zeros, but its megabyte's number at each megabyte's begin."""
    content = bytearray(length)
    for at in range(-place % MIB, length, MIB):
        content[at : at + 4] = ((place + at) // MIB).to_bytes(4, "big")[: length - at]
    return bytes(content)


def test_a_file_larger_than_a_group_is_whole(tmp_path: Path) -> None:
    large = Node(kind=Kind.FILE, size=300 * MIB, segments=(Segment(0, 0, 300 * MIB),))
    path = made(tree(large=large), tmp_path / "root.ext4", pattern)
    out = dumped(path, tmp_path / "out") / "large"
    assert out.stat().st_size == 300 * MIB
    with out.open("rb") as content:
        for number in (0, 1, 127, 128, 299):
            content.seek(number * MIB)
            assert int.from_bytes(content.read(4), "big") == number


def test_holes_take_no_room(tmp_path: Path) -> None:
    sparse = Node(
        kind=Kind.FILE, size=1 << 40, segments=(Segment(5 * MIB + 7, 3 * MIB, 100), Segment(1 << 39, MIB, 4096))
    )
    path = made(tree(sparse=sparse), tmp_path / "root.ext4", pattern)
    assert path.stat().st_size < 500 * MIB
    told = stat(path, "/sparse")
    assert f"Size: {1 << 40}" in told
    assert "Blockcount: 16" in told


def test_a_file_of_more_holes_than_extents_can_tell_is_filled(tmp_path: Path) -> None:
    segments = tuple(Segment(at * 8192, at * MIB, 4) for at in range(2000))
    sparse = Node(kind=Kind.FILE, size=2000 * 8192, segments=segments)
    out = dumped(made(tree(sparse=sparse), tmp_path / "root.ext4", pattern), tmp_path / "out")
    content = (out / "sparse").read_bytes()
    assert [int.from_bytes(content[at * 8192 : at * 8192 + 4], "big") for at in (0, 1, 1999)] == [0, 1, 1999]
    few = Node(kind=Kind.FILE, size=600 * 8192, segments=segments[:600])
    path = made(tree(sparse=few), tmp_path / "few.ext4", pattern)
    assert f"Blockcount: {(600 + 2) * 8}" in stat(
        path, "/sparse"
    )  # two blocks of extents: more than the inode has room for


def test_a_file_of_more_extents_than_one_level_of_blocks_knows_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning, "_MOST_PARTS", 2000)
    segments = tuple(Segment(at * 8192, at * MIB, 4) for at in range(2000))
    path = made(tree(sparse=Node(kind=Kind.FILE, size=2000 * 8192, segments=segments)), tmp_path / "root.ext4", pattern)
    content = (dumped(path, tmp_path / "out") / "sparse").read_bytes()
    assert [int.from_bytes(content[at * 8192 : at * 8192 + 4], "big") for at in range(2000)] == list(range(2000))
    assert f"Blockcount: {(2000 + 6 + 1) * 8}" in stat(
        path, "/sparse"
    )  # six blocks of extents, and one that leads there


def test_a_file_of_hundreds_of_gigabytes_has_its_extents() -> None:
    large = Node(kind=Kind.FILE, size=170 << 30, segments=(Segment(0, 0, 170 << 30),))
    (one,) = (each for each in plan(tree(large=large)).placed if each.node is large)
    body = records.extent_body(one.extents, one.leaves, one.branches)
    assert (len(one.leaves), len(one.branches), len(body)) == (5, 1, 12 + 12)


def test_an_inode_is_never_cut_short() -> None:
    with pytest.raises(ValueError, match="inode 12 has 61 bytes, and room for 60"):
        records.inode(records.Inode(mode=0o100644, body=bytes(61)), 12, WHO)


def test_it_grows_as_any_other(tmp_path: Path) -> None:
    path = made(tree(hostname=file(b"lab\n")), tmp_path / "root.ext4")
    with path.open("r+b") as content:
        content.truncate(40 << 30)
    run("resize2fs", path)
    check(path)
    assert debugfs(path, "cat /hostname") == b"lab\n"
    assert "Block count:              10485760" in run("dumpe2fs", "-h", path)


def test_any_copy_of_the_superblock_finds_everything(tmp_path: Path) -> None:
    large = Node(kind=Kind.FILE, size=200 * MIB, segments=(Segment(0, 0, 200 * MIB),))
    path = made(tree(large=large, hostname=file(b"lab\n")), tmp_path / "root.ext4", pattern)
    assert debugfs(path, "stat <8>").count(b"regular") == 1
    with path.open("r+b") as content:
        content.write(bytes(8192))
    run_twice = f"e2fsck -fy -b 32768 -B 4096 {path}"
    run("sh", "-c", f"{run_twice}; test $? -le 1")
    check(path)
    assert debugfs(path, "cat /hostname") == b"lab\n"


def test_more_files_than_usual_have_their_inodes(tmp_path: Path) -> None:
    root = folder(modified=AT)
    for outer in range(20):
        inner = folder()
        put(root, b"%d" % outer, inner)
        for number in range(1500):
            put(inner, b"%d" % number, file(b""))
    made(root, tmp_path / "root.ext4")


@pytest.mark.parametrize(
    "grown",
    [
        pytest.param(lambda: Node(kind=Kind.FILE, size=1 << 41, segments=(Segment(0, 0, 1 << 41),)), id="too large"),
        pytest.param(lambda: Node(kind=Kind.FILE, size=0, names=65_001), id="too many names"),
    ],
)
def test_what_no_file_system_has_is_refused(grown: Callable[[], Node]) -> None:
    with pytest.raises(Invalid):
        plan(tree(large=grown()))


def test_a_source_that_ends_early_is_told() -> None:
    large = Node(kind=Kind.FILE, size=5000, segments=(Segment(0, 100, 5000),))
    with pytest.raises(Invalid, match="it ends at byte 110"):
        list(pieces(plan(tree(large=large)), WHO, lambda place, length: bytes(10)))


NAMES: Final = st.binary(min_size=1, max_size=255).filter(
    lambda name: not {b"/", b"\0"} & {name[at : at + 1] for at in range(len(name))} and name not in (b".", b"..")
)
FILES: Final = st.builds(file, st.binary(max_size=9000), st.integers(0, 0o7777))
TREES: Final = st.recursive(
    st.dictionaries(NAMES, FILES, max_size=5),
    lambda inner: st.dictionaries(NAMES, FILES | inner, max_size=5),
    max_leaves=20,
)


def grown(content: dict[bytes, object]) -> Node:
    made = folder(modified=AT)
    for name, each in content.items():
        put(made, name, each if isinstance(each, Node) else grown(each))  # type: ignore[arg-type]
    return made


@settings(max_examples=15, deadline=None)
@given(TREES)
def test_whatever_the_tree_is_e2fsck_finds_nothing(
    tmp_path_factory: pytest.TempPathFactory, content: dict[bytes, object]
) -> None:
    root = grown(content)
    made(root, tmp_path_factory.mktemp("tree") / "root.ext4")


def test_only_a_folder_takes_children() -> None:
    one = file(b"")
    with pytest.raises(TypeError):
        put(one, b"name", file(b""))


def test_links_are_followed_within_the_tree_and_never_out_of_it() -> None:
    root = tree(
        usr=tree(bin=tree(sh=file(b"sh"))),
        bin=Node(kind=Kind.LINK, content=b"usr/bin"),
        up=Node(kind=Kind.LINK, content=b"../../../../usr"),
        absolute=Node(kind=Kind.LINK, content=b"/bin/sh"),
        circle=Node(kind=Kind.LINK, content=b"circle"),
    )
    for path in ("/bin/sh", "/up/bin/sh", "/absolute", "/bin/../bin/sh"):
        found = find(root, path)
        assert found is not None, path
        assert found.content == b"sh"
    assert find(root, "/circle") is None
    assert find(root, "/bin/sh/x") is None
    assert find(root, "/../..") is root
