import shutil
import subprocess
from itertools import repeat
from pathlib import Path

import pytest

from tests.unit.osie.test_tree import unpacked
from tinkbox.model.errors import NotFound, Unavailable
from tinkbox.osie.build import FILES, LIBRARIES, PROGRAMS, SCRIPTS, build, compress
from tinkbox.osie.image import images

KERNEL = "6.1.0-1-amd64"
# Plays the loader's two parts: it lists a program's libraries, and it runs `zstd`, which here packs nothing.
LOADER = """#!/bin/sh
if [ "$3" = --list ]; then
    [ -e "$FAKE/lost" ] && { echo "	libodd.so.9 => not found"; exit 1; }
    echo "	libc.so.6 => ${2%%:*}/libc.so.6 (0x00007f)"
    echo "	/lib64/ld-linux-x86-64.so.2 => $1 (0x00007f)"
    exit
fi
[ -e "$FAKE/full" ] && { echo "no space left" >&2; exit 1; }
for last; do :; done
cat > "$last"
"""
BUSYBOX = f"""#!/bin/sh
echo "kernel/fs/ext4/ext4.ko:" > "$3/lib/modules/{KERNEL}/modules.dep"
"""


@pytest.fixture
def mirror(mirror):
    mirror.serve("Inst osie (1 Debian:12/stable [amd64])\n")
    mirror.content("osie", f"boot/vmlinuz-{KERNEL}", "kernel")
    mirror.content("osie", f"lib/modules/{KERNEL}/kernel/fs/ext4/ext4.ko", "ext4")
    mirror.content("osie", f"lib/modules/{KERNEL}/kernel/sound/snd.ko", "noise")
    mirror.content("osie", "bin/busybox", BUSYBOX, 0o755)
    mirror.content("osie", "lib64/ld-linux-x86-64.so.2", LOADER, 0o755)
    mirror.content("osie", "usr/share/ca-certificates/mozilla/A.crt", "first\n")
    mirror.content("osie", "usr/share/ca-certificates/mozilla/B.crt", "second\n")
    for program in PROGRAMS:
        mirror.content("osie", program, "elf", 0o755)
    for library in (*LIBRARIES, "libc.so.6"):
        mirror.content("osie", f"lib/x86_64-linux-gnu/{library}", library)
    return mirror


@pytest.fixture
def executable(tmp_path) -> Path:
    path = tmp_path / "tinkbox"
    path.write_bytes(b"the worker itself")
    return path


def test_the_ramdisk_holds_the_worker_the_engine_and_what_starts_them(mirror, executable, tmp_path) -> None:
    image = build(tmp_path / "osie", executable, tmp_path / "cache", lambda _: None)
    made = tmp_path / "osie" / "x86_64"
    tree = unpacked((made / "initramfs").read_bytes())
    assert tree["usr/bin/tinkbox"].content == b"the worker itself"
    assert tree["usr/bin/tinkbox"].mode & 0o111
    assert {f"usr/bin/{Path(program).name}" for program in PROGRAMS} < tree.keys()
    assert {f"osie/{script}" for script in SCRIPTS} < tree.keys()
    assert tree["init"].content == (FILES / "init").read_bytes()
    assert tree["lib"].content == b"usr/lib"
    assert tree["etc/ssl/certs/ca-certificates.crt"].content == b"first\nsecond\n"
    assert {f"usr/lib/x86_64-linux-gnu/{name}" for name in (*LIBRARIES, "libc.so.6")} < tree.keys()
    assert f"usr/lib/modules/{KERNEL}/kernel/fs/ext4/ext4.ko" in tree
    assert f"usr/lib/modules/{KERNEL}/kernel/sound/snd.ko" not in tree
    assert (made / "vmlinuz").read_bytes() == b"kernel"
    assert (made / "initramfs").stat().st_size % 512 == 0
    assert images(tmp_path / "osie") == [image]
    assert (image.kernel, image.packages) == (KERNEL, {"osie": "1"})


def test_a_second_build_replaces_the_first_and_is_the_same(mirror, executable, tmp_path) -> None:
    one = build(tmp_path / "osie", executable, tmp_path / "cache", lambda _: None)
    assert build(tmp_path / "osie", executable, tmp_path / "cache", lambda _: None) == one
    assert [path.name for path in (tmp_path / "osie").iterdir()] == ["x86_64"]


@pytest.mark.parametrize(
    ("trouble", "told"), [("full", "no space left.*disk full"), ("lost", r"lack libraries: libodd\.so\.9 of dockerd")]
)
def test_a_build_that_fails_leaves_the_one_before(mirror, executable, tmp_path, trouble, told) -> None:
    before = build(tmp_path / "osie", executable, tmp_path / "cache", lambda _: None)
    (mirror.folder / trouble).touch()
    with pytest.raises(Unavailable, match=told):
        build(tmp_path / "osie", executable, tmp_path / "cache", lambda _: None)
    assert images(tmp_path / "osie") == [before]
    assert [path.name for path in (tmp_path / "osie").iterdir()] == ["x86_64"]


def test_a_compressor_that_ends_early_is_reported_however_much_was_on_its_way(mirror, tmp_path) -> None:
    (mirror.folder / "full").touch()
    with pytest.raises(Unavailable, match=r"no space left.*disk full"):
        compress(repeat(b"x" * 100), tmp_path / "initramfs", mirror.folder / "content" / "osie")


def test_packages_without_a_kernel_are_reported(mirror, executable, tmp_path) -> None:
    shutil.rmtree(mirror.folder / "content" / "osie" / "boot")
    with pytest.raises(Unavailable, match="brought no kernel"):
        build(tmp_path / "osie", executable, tmp_path / "cache", lambda _: None)


def test_without_the_executable_nothing_is_downloaded(mirror, tmp_path) -> None:
    with pytest.raises(NotFound, match="make binary"):
        build(tmp_path / "osie", tmp_path / "nowhere", tmp_path / "cache", lambda _: None)
    assert mirror.calls() == []


def test_progress_names_the_patterns_that_fit_no_module(mirror, executable, tmp_path) -> None:
    told: list[str] = []
    build(tmp_path / "osie", executable, tmp_path / "cache", told.append)
    assert f"no module of kernel {KERNEL} matches drivers/net/virtio_net.ko" in told
    assert not [line for line in told if line.endswith("matches fs/ext4/*")]


@pytest.mark.parametrize("script", ["init", "words", *SCRIPTS])
def test_every_script_is_one(script) -> None:
    subprocess.run(["sh", "-n", FILES / script], check=True)


def test_every_file_beside_the_scripts_travels() -> None:
    assert {path.name for path in FILES.iterdir()} == {"init", "words", "modules.txt", *SCRIPTS}


def words(command: str, root: Path) -> str:
    """Run a line with the functions of files/words, which finds /etc and /proc below `root`."""
    text = (FILES / "words").read_text().replace("/etc/", f"{root}/").replace("/proc/", f"{root}/")
    text = text.replace("export PATH=/bin", "export PATH=/usr/bin:/bin")
    (root / "words").write_text(text)
    return subprocess.run(
        ["sh", "-c", f". {root}/words; {command}"], check=True, capture_output=True, text=True
    ).stdout.strip()


def test_the_scripts_read_the_kernel_command_line_and_the_credential(tmp_path) -> None:
    (tmp_path / "tinkbox").mkdir()
    (tmp_path / "tinkbox" / "worker.json").write_text(
        '{"server":"http://a:8080","registry":"a:8080","worker":"0eba","token":"t"}'
    )
    (tmp_path / "cmdline").write_text("quiet tinkbox.server=http://b tinkbox.mac=08:00:27:00:00:01 console=ttyS0\n")
    assert words("appliance", tmp_path) == "http://b"
    assert words("argument tinkbox.mac", tmp_path) == "08:00:27:00:00:01"
    assert words("credential registry", tmp_path) == "a:8080"
    (tmp_path / "cmdline").write_text("quiet\n")
    assert words("appliance", tmp_path) == "http://a:8080"


def test_a_missing_credential_is_no_noise_on_the_console(tmp_path) -> None:
    (tmp_path / "cmdline").write_text("quiet\n")
    assert words("exec 2>&1; credential server", tmp_path) == ""
