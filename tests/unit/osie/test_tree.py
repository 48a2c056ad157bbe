import stat
from dataclasses import dataclass

from tinkbox.osie.tree import Tree


@dataclass
class Entry:
    mode: int
    content: bytes
    owner: tuple[int, int]
    changed: int


def unpacked(archive: bytes) -> dict[str, Entry]:
    """What the kernel would make of it (early-userspace/buffer-format)."""
    entries: dict[str, Entry] = {}
    at = 0
    while True:
        assert archive[at : at + 6] == b"070701"
        _, mode, uid, gid, _, changed, size, *_, name_size, _ = (
            int(archive[at + 6 + 8 * field : at + 14 + 8 * field], 16) for field in range(13)
        )
        name = archive[at + 110 : at + 110 + name_size - 1].decode()
        data = at + 110 + name_size
        data += -data % 4
        if name == "TRAILER!!!":
            assert not archive[data:].strip(b"\0")
            return entries
        entries[name] = Entry(mode, archive[data : data + size], (uid, gid), changed)
        at = data + size
        at += -at % 4


def test_files_folders_and_links_come_out_as_they_went_in(tmp_path) -> None:
    (tmp_path / "program").write_bytes(b"\x7fELF")
    tree = Tree()
    tree.file("usr/bin/program", tmp_path / "program", 0o755)
    tree.file("etc/hostname", b"osie\n")
    tree.link("bin", "usr/bin")
    tree.folder("tmp", 0o1777)
    got = unpacked(b"".join(tree.archive()))
    assert got["usr/bin/program"] == Entry(stat.S_IFREG | 0o755, b"\x7fELF", (0, 0), 0)
    assert got["etc/hostname"] == Entry(stat.S_IFREG | 0o644, b"osie\n", (0, 0), 0)
    assert got["bin"] == Entry(stat.S_IFLNK | 0o777, b"usr/bin", (0, 0), 0)
    assert got["tmp"].mode == stat.S_IFDIR | 0o1777


def test_every_folder_comes_before_what_is_in_it() -> None:
    tree = Tree()
    tree.file("a/b/c.txt", b"")
    tree.file("a-b/c", b"")
    names = list(unpacked(b"".join(tree.archive())))
    assert names.index("a") < names.index("a/b") < names.index("a/b/c.txt")
    assert names.index("a-b") < names.index("a-b/c")


def test_a_folder_of_its_own_mode_keeps_it() -> None:
    tree = Tree()
    tree.file("root/.profile", b"")
    tree.folder("root", 0o700)
    tree.file("root/.ashrc", b"")
    assert unpacked(b"".join(tree.archive()))["root"].mode == stat.S_IFDIR | 0o700


def test_another_ramdisk_can_follow_whatever_the_content() -> None:
    for size in range(0, 1100, 37):
        tree = Tree()
        tree.file("x", b"x" * size)
        assert sum(map(len, tree.archive())) % 512 == 0


def test_the_same_content_gives_the_same_bytes_in_any_order(tmp_path) -> None:
    one, two = Tree(), Tree()
    one.file("a", b"1")
    one.file("b", b"2")
    two.file("b", b"2")
    two.file("a", b"1")
    assert b"".join(one.archive()) == b"".join(two.archive())


def test_a_folder_of_files_is_taken_without_its_links(tmp_path) -> None:
    (tmp_path / "kernel" / "fs").mkdir(parents=True)
    (tmp_path / "kernel" / "fs" / "ext4.ko").write_bytes(b"ko")
    (tmp_path / "build").symlink_to("/usr/src")
    tree = Tree()
    tree.files_below(tmp_path, "lib/modules/6.1")
    assert "lib/modules/6.1/kernel/fs/ext4.ko" in tree
    assert "lib/modules/6.1/build" not in tree
