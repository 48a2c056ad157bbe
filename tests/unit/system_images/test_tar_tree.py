"""Tars as trees of files: what comes of every kind of entry, and what is refused."""

import tarfile
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.root_tars import AT, entry, folder, link, system, tar
from tinkbox.model.errors import Invalid
from tinkbox.system_images import tar_tree
from tinkbox.system_images.tar_tree import TarTree, read_tree
from tinkbox.wire.ext4.tree import Kind, Node, find


def tree_of(content: bytes) -> TarTree:
    return read_tree(lambda place, number: content[place : place + number], len(content))


def read(content: bytes) -> Node:
    return tree_of(content).root


def found(root: Node, path: str) -> Node:
    node = find(root, path)
    assert node is not None, path
    return node


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
@pytest.mark.parametrize("prefix", ["./", "", "/"])
def test_every_form_and_prefix_is_the_same_tree(form: int, prefix: str) -> None:
    content = tar(
        [folder(f"{prefix}etc"), entry(f"{prefix}etc/hostname", content=b"lab\n", uid=7, gid=8, mode=0o640)], form
    )
    node = found(read(content), "/etc/hostname")
    (segment,) = node.segments
    assert content[segment.place : segment.place + segment.length] == b"lab\n"
    assert (node.size, node.permissions, node.user, node.group, node.modified) == (4, 0o640, 7, 8, AT)


def test_each_kind_of_entry_is_kept_as_it_is() -> None:
    root = read(
        tar(
            [
                folder("./", mode=0o700, uid=5),
                entry("sudo", content=b"x", mode=0o4755),
                link("bin", "usr/bin"),
                entry("null", tarfile.CHRTYPE, devmajor=1, devminor=3),
                entry("sda", tarfile.BLKTYPE, devmajor=8, devminor=0),
                entry("pipe", tarfile.FIFOTYPE),
                entry("again", tarfile.LNKTYPE, linkname="./sudo"),
            ]
        )
    )
    assert (root.permissions, root.user) == (0o700, 5)
    assert root.children[b"sudo"] is root.children[b"again"]
    assert root.children[b"sudo"].names == 2
    assert root.children[b"sudo"].permissions == 0o4755
    assert root.children[b"bin"].content == b"usr/bin"
    assert root.children[b"null"].device == (1, 3)
    assert [root.children[name].kind for name in (b"sda", b"pipe")] == [Kind.BLOCK_DEVICE, Kind.PIPE]


def test_names_are_bytes_whatever_they_mean() -> None:
    name = "caf\udce9\n" + "x" * 200
    root = read(tar([entry(f"{'long/' * 30}{name}", content=b"1")]))
    assert found(root, "/" + "long/" * 30 + name).size == 1
    latin = tar([entry("caf\udce9")], tarfile.GNU_FORMAT)
    assert list(read(latin).children) == [b"caf\xe9"]


def test_attributes_are_bytes_and_what_is_not_kept_is_counted() -> None:
    capability = bytes.fromhex("0100000200200000000000000000000000ff0080")
    info, content = entry("ping", content=b"x")
    info.pax_headers = {
        "SCHILY.xattr.security.capability": capability.decode("utf-8", "surrogateescape"),
        "SCHILY.xattr.user.name=odd": "value",
        "SCHILY.xattr.system.nfs4_acl": "x",
        "SCHILY.acl.access": "user::rwx",
        "RHT.security.selinux": "system_u:object_r:ping_exec_t:s0",
    }
    tree = tree_of(tar([(info, content)]))
    node = found(tree.root, "/ping")
    assert node.attributes[b"security.capability"] == capability
    assert node.attributes[b"security.selinux"] == b"system_u:object_r:ping_exec_t:s0\0"
    assert tree.left_out == {"extended attribute": 1, "access control list": 1}


def test_the_last_of_several_entries_of_a_name_counts() -> None:
    root = read(
        tar(
            [
                entry("a", content=b"first"),
                entry("b", tarfile.LNKTYPE, linkname="a"),
                entry("a", content=b"second!"),
                folder("d", mode=0o700),
                entry("d/x", content=b"1"),
                folder("d", mode=0o711),
                link("e", "a"),
                entry("e", content=b"a file"),
            ]
        )
    )
    assert (root.children[b"a"].size, root.children[b"b"].size) == (7, 5)
    assert (root.children[b"a"].names, root.children[b"b"].names) == (1, 1)
    assert root.children[b"d"].permissions == 0o711
    assert b"x" in root.children[b"d"].children
    assert root.children[b"e"].kind is Kind.FILE


def test_folders_that_are_named_by_no_entry_are_roots() -> None:
    root = read(tar([entry("usr/lib/x", content=b"1", uid=1000)]))
    assert (found(root, "/usr/lib").permissions, found(root, "/usr/lib").user) == (0o755, 0)


def sparse_1_0(name: str, size: int, pieces: Sequence[tuple[int, bytes]]) -> tuple[tarfile.TarInfo, bytes]:
    """As `tar --sparse` of today writes it: the map stands before the content."""
    numbers = [len(pieces), *(number for at, content in pieces for number in (at, len(content)))]
    front = "".join(f"{number}\n" for number in numbers).encode()
    front += bytes(-len(front) % 512)
    info, content = entry(f"GNUSparseFile.0/{name}", content=front + b"".join(part for _, part in pieces))
    info.pax_headers = {
        "GNU.sparse.major": "1",
        "GNU.sparse.minor": "0",
        "GNU.sparse.name": name,
        "GNU.sparse.realsize": str(size),
    }
    return info, content


def test_sparse_files_keep_their_holes() -> None:
    content = tar(
        [sparse_1_0("disk", 1 << 30, [(4096, b"a" * 512), (1 << 29, b"b" * 1024)]), entry("after", content=b"x")]
    )
    root = read(content)
    node = root.children[b"disk"]
    assert (node.size, [(each.at, each.length) for each in node.segments]) == (1 << 30, [(4096, 512), (1 << 29, 1024)])
    first, second = node.segments
    assert content[first.place : first.place + 512] == b"a" * 512
    assert content[second.place : second.place + 1024] == b"b" * 1024
    assert root.children[b"after"].segments[0].length == 1


LEADING_OUT: Mapping[str, Sequence[tuple[tarfile.TarInfo, bytes]]] = {
    "above": [entry("../../etc/cron.d/x", content=b"x")],
    "above, later": [entry("etc/../../x", content=b"x")],
    "by a link": [link("out", "/etc"), entry("out/passwd", content=b"x")],
    "by a link to above": [link("out", ".."), entry("out/x", content=b"x")],
    "a second name of a file of the host": [entry("x", tarfile.LNKTYPE, linkname="/etc/passwd")],
    "a second name of a file above": [entry("x", tarfile.LNKTYPE, linkname="../x")],
    "a second name by a link": [link("out", "/etc"), entry("x", tarfile.LNKTYPE, linkname="out/passwd")],
    "a second name of a folder": [folder("d"), entry("d/x", tarfile.LNKTYPE, linkname="d")],
    "a file in a file": [entry("x"), entry("x/y")],
    "a file for a folder": [folder("d"), entry("d/x"), entry("d")],
    "no name": [entry("./", tarfile.SYMTYPE, linkname="/")],
}


@pytest.mark.parametrize("name", LEADING_OUT)
def test_a_name_that_leads_out_of_the_tree_is_refused(name: str) -> None:
    with pytest.raises(Invalid, match=r"its entry|has no name"):
        read(tar([folder("./"), *LEADING_OUT[name]]))


def patched(content: bytes, at: int, new: bytes) -> bytes:
    """The same with other bytes in the first header, whose checksum is right again."""
    header = bytearray(content[:512])
    header[at : at + len(new)] = new
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header) + content[512:]


def number(value: int, length: int) -> bytes:
    """A number of any size or sign, as GNU tar writes it."""
    return bytes([0xFF if value < 0 else 0x80]) + (value % (1 << 8 * (length - 1))).to_bytes(length - 1, "big")


ONE = tar([entry("x", content=b"content")], tarfile.GNU_FORMAT)
DAMAGED: Mapping[str, bytes] = {
    "nothing behind its first entry": ONE[:1024],
    "no second half": ONE[:700],
    "a half header": ONE[:300],
    "junk in place of an entry": ONE[:1024] + b"junk" * 128 + ONE[1024:],
    "a negative length": patched(ONE, 124, number(-512, 12)),
    "a length of exabytes": patched(ONE, 124, number(1 << 62, 12)),
    "a length that leads back": patched(ONE, 124, number(-1 << 40, 12)),
    "a negative user": patched(ONE, 108, number(-5, 8)),
    "a user that is none": patched(ONE, 108, number((1 << 32) - 1, 8)),
    "an unknown kind": patched(ONE, 156, b"Z"),
    "a volume": patched(ONE, 156, b"M"),
    "a header for the next one that ends": patched(ONE, 156, b"x"),
    "a long name that ends": patched(ONE, 156, b"L"),
    "a name of a megabyte": tar([entry("a/" * 500_000)]),
    "a component that is too long": tar([entry("x" * 300)]),
    "a link to nothing": patched(ONE, 156, b"2"),
    "a device of another world": patched(patched(ONE, 156, b"3"), 329, number(1 << 40, 8)),
    "headers without end": b"".join(patched(ONE, 156, b"x")[:1024] for _ in range(2000)),
    "a map that leads back": tar([sparse_1_0("x", 100, [(50, b"a"), (10, b"b")])]),
    "a map behind its size": tar([sparse_1_0("x", 10, [(50, b"a")])]),
    "a map that is none": tar([(sparse_1_0("x", 10, [])[0], b"much\nnonsense".ljust(512, b"\0"))]),
}


def with_header(key: str, value: str) -> bytes:
    info, content = entry("x")
    info.pax_headers = {key: value}
    return tar([(info, content)])


@pytest.mark.parametrize("name", DAMAGED)
def test_what_is_damaged_is_told(name: str) -> None:
    with pytest.raises(Invalid):
        read(DAMAGED[name])


def test_damage_is_not_told_in_words_of_python() -> None:
    info, content = entry("x", content=b"no map of holes" * 40)
    info.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0"}
    with pytest.raises(Invalid, match=r"behind byte 0 \('an entry of it contradicts itself'\)"):
        read(tar([(info, content)]))


def test_more_attributes_than_a_file_system_keeps_are_refused() -> None:
    with pytest.raises(Invalid, match="the extended attributes of 'x' are more"):
        read(with_header("SCHILY.xattr.user.x", "v" * 5000))


def test_times_that_no_file_has_become_the_nearest() -> None:
    root = read(with_header("mtime", "99999999999999.5"))
    assert root.children[b"x"].modified == (1 << 34) - (1 << 31) - 1


def test_a_time_that_is_no_number_is_damage() -> None:
    with pytest.raises(Invalid, match="it is damaged: the time of 'x' is no number"):
        read(with_header("mtime", "nan"))


def test_equal_attributes_and_none_take_memory_once() -> None:
    labelled = []
    for name in ("a", "b", "c"):
        info, content = entry(name)
        info.pax_headers = {"RHT.security.selinux": "one" if name != "c" else "another"}
        labelled.append((info, content))
    nodes = read(tar([*labelled, entry("d"), entry("e")])).children
    assert nodes[b"a"].attributes is nodes[b"b"].attributes
    assert nodes[b"c"].attributes == {b"security.selinux": b"another\0"}
    assert nodes[b"d"].attributes is nodes[b"e"].attributes
    assert nodes[b"a"].children is nodes[b"e"].children


def test_more_files_than_there_is_memory_for_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tar_tree, "MAX_ENTRIES", 10)
    with pytest.raises(Invalid, match="more than 10 files"):
        read(tar([entry("/".join("abcdefghijklmn"))]))


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_whatever_is_changed_in_a_tar_it_is_read_or_refused(data: st.DataObject) -> None:
    content = bytearray(tar([*system()[:6], link("l", "x"), sparse_1_0("s", 9000, [(0, b"a"), (5000, b"b")])]))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(content)))
    for damaged in (bytes(content), bytes(content[:cut])):
        try:
            tree_of(damaged)
        except Invalid:
            continue
