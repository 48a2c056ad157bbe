import shutil
import subprocess
from collections.abc import Callable
from itertools import repeat
from pathlib import Path
from platform import freedesktop_os_release

import pytest

from tests.unit.osie.elves import AARCH64, elf, kernel_module
from tests.unit.osie.test_tree import unpacked
from tinkbox.model.errors import Invalid, NotFound, Unavailable
from tinkbox.osie import build as module
from tinkbox.osie.architectures import ARCHITECTURES, X86_64, Architecture, architecture
from tinkbox.osie.build import FILES, LIBRARIES, PROGRAMS, SCRIPTS, compress
from tinkbox.osie.image import Firmware, OsieImage, describe, images

KERNEL = "6.1.0-1-amd64"
# The loader runs `zstd`, which here packs nothing.
LOADER = """#!/bin/sh
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
    mirror.content("osie", f"lib/modules/{KERNEL}/kernel/fs/ext4/ext4.ko", kernel_module("ext4/a.fw", "ext4/none.fw"))
    mirror.content("osie", f"lib/modules/{KERNEL}/kernel/sound/snd.ko", "noise")
    mirror.content("osie", "bin/busybox", BUSYBOX, 0o755)
    mirror.content("osie", "lib64/ld-linux-x86-64.so.2", LOADER, 0o755)
    mirror.content("osie", "usr/share/ca-certificates/mozilla/A.crt", "first\n")
    mirror.content("osie", "usr/share/ca-certificates/mozilla/B.crt", "second\n")
    for program in PROGRAMS:
        mirror.content("osie", program, elf("libc.so.6", "ld-linux-x86-64.so.2"), 0o755)
    for library in (*LIBRARIES, "libc.so.6"):
        mirror.content("osie", f"lib/x86_64-linux-gnu/{library}", elf())
    return mirror


@pytest.fixture
def with_firmware(mirror):
    """A mirror that has firmware as well."""
    mirror.serve(
        "Inst osie (1 Debian:12/stable [amd64])\nInst firmware-realtek (20230210-5 Debian:12/stable [amd64])\n"
        "Component firmware-realtek\n"
    )
    mirror.content("firmware-realtek", "lib/firmware/ext4/a.fw", "of Debian")
    mirror.content("firmware-realtek", "lib/firmware/unused.fw", "noise")
    mirror.content("firmware-realtek", "usr/share/doc/firmware-realtek/copyright", "pass it on\n")
    return mirror


@pytest.fixture
def executable(tmp_path) -> Path:
    path = tmp_path / "tinkbox"
    path.write_bytes(b"the worker itself")
    return path


def build(
    output: Path,
    executable: Path,
    cache: Path,
    progress: Callable[[str], None],
    made_for: Architecture = X86_64,
    *,
    with_firmware: bool = False,
) -> OsieImage:
    return module.build(output, executable, cache, progress, made_for, with_firmware=with_firmware)


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


def test_firmware_that_modules_ask_for_is_a_second_ramdisk(with_firmware, executable, tmp_path) -> None:
    mirror = with_firmware
    told: list[str] = []
    image = build(tmp_path / "osie", executable, tmp_path / "cache", told.append, with_firmware=True)
    made = tmp_path / "osie" / "x86_64"
    tree = unpacked((made / "firmware").read_bytes())
    assert tree["usr/lib/firmware/ext4/a.fw"].content == b"of Debian"
    assert tree["usr/share/doc/firmware/copyright"].content.startswith(b"firmware-realtek 20230210-5")
    assert tree["usr/share/doc/firmware/copyright"].content.endswith(b"\n\npass it on\n")
    assert (made / "firmware.copyright").read_bytes() == tree["usr/share/doc/firmware/copyright"].content
    assert not any("unused" in path for path in tree)
    assert images(tmp_path / "osie") == [image]
    assert image.firmware == Firmware(files=("ext4/a.fw",), modules={"ext4": ("ext4/a.fw",)}, absent=("ext4/none.fw",))
    assert image.files["firmware"] == describe(made / "firmware")
    assert image.packages["firmware-realtek"] == "20230210-5"
    assert "1 files for 1 modules; no package has 1 others" in told
    # The component is asked of a list of our own, and everything else of this machine's sources.
    asked = [line for line in mirror.options().splitlines() if "osie=1" in line or "firmware-realtek=" in line]
    assert {("non-free-firmware.sources" in line, "osie=1" in line) for line in asked} == {(True, False), (False, True)}


def test_without_firmware_there_is_no_second_ramdisk_and_none_is_asked_for(mirror, executable, tmp_path) -> None:
    image = build(tmp_path / "osie", executable, tmp_path / "cache", lambda _: None)
    assert image.firmware is None
    assert {path.name for path in (tmp_path / "osie/x86_64").iterdir()} == {
        "vmlinuz",
        "initramfs",
        "osie.json",
        "osie.cdx.json",
    }
    assert "non-free-firmware" not in mirror.options()
    tree = unpacked((tmp_path / "osie/x86_64/initramfs").read_bytes())
    assert tree[f"usr/lib/modules/{KERNEL}/modules.firmware"].content == b"ext4 ext4/a.fw ext4/none.fw\n"


def test_a_mirror_without_firmware_is_reported_with_the_way_around(mirror, executable, tmp_path) -> None:
    with pytest.raises(Unavailable, match=r"do not give firmware-bnx2.*`--without-firmware` builds the OSIE without"):
        build(tmp_path / "osie", executable, tmp_path / "cache", lambda _: None, with_firmware=True)


def test_a_second_build_replaces_the_first_and_is_the_same(mirror, executable, tmp_path) -> None:
    one = build(tmp_path / "osie", executable, tmp_path / "cache", lambda _: None)
    assert build(tmp_path / "osie", executable, tmp_path / "cache", lambda _: None) == one
    assert [path.name for path in (tmp_path / "osie").iterdir()] == ["x86_64"]


@pytest.mark.parametrize(
    ("trouble", "told"), [("full", "no space left.*disk full"), ("lost", r"lack libraries: libodd\.so\.9 of dockerd")]
)
def test_a_build_that_fails_leaves_the_one_before(mirror, executable, tmp_path, trouble, told) -> None:
    before = build(tmp_path / "osie", executable, tmp_path / "cache", lambda _: None)
    if trouble == "full":
        (mirror.folder / trouble).touch()
    else:
        mirror.content("osie", PROGRAMS[0], elf("libodd.so.9"), 0o755)
    with pytest.raises(Unavailable, match=told):
        build(tmp_path / "osie", executable, tmp_path / "cache", lambda _: None)
    assert images(tmp_path / "osie") == [before]
    assert [path.name for path in (tmp_path / "osie").iterdir()] == ["x86_64"]


def test_a_compressor_that_ends_early_is_reported_however_much_was_on_its_way(mirror, tmp_path) -> None:
    (mirror.folder / "full").touch()
    with pytest.raises(Unavailable, match=r"no space left.*disk full"):
        compress(repeat(b"x" * 100), tmp_path / "initramfs", mirror.folder / "content" / "osie", X86_64)


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


ARM_KERNEL = "6.1.0-1-arm64"


@pytest.fixture
def foreign(mirror):
    """A mirror whose packages for the other processor cannot be run here: what is run must come from its own."""
    mirror.serve("Inst osie (1 Debian:12/stable [amd64])\nInst arm (1 Debian:12/stable [arm64])\n")
    mirror.content("osie", "bin/busybox", BUSYBOX.replace(KERNEL, ARM_KERNEL), 0o755)
    mirror.content("arm", f"boot/vmlinuz-{ARM_KERNEL}", "kernel")
    mirror.content(
        "arm", f"lib/modules/{ARM_KERNEL}/kernel/fs/ext4/ext4.ko", kernel_module("ext4/a.fw", "ext4/none.fw")
    )
    for path in ("bin/busybox", "lib/ld-linux-aarch64.so.1", "usr/bin/zstd"):
        mirror.content("arm", path, elf(machine=AARCH64), 0o755)
    for program in PROGRAMS:
        mirror.content("arm", program, elf("libc.so.6", "ld-linux-aarch64.so.1", machine=AARCH64), 0o755)
    for library in (*LIBRARIES, "libc.so.6", "libssl.so.3"):
        mirror.content("arm", f"usr/lib/aarch64-linux-gnu/{library}", elf(machine=AARCH64))
    return mirror


@pytest.fixture
def worker_tree(tmp_path) -> Path:
    """A worker of several files, linked with a library of its own and one of the OSIE's."""
    files = {
        "usr/bin/tinkbox": b"#!/bin/sh\n",
        "usr/bin/python3": elf("libown.so", "libssl.so.3", machine=AARCH64),
        "usr/lib/aarch64-linux-gnu/libown.so": elf(machine=AARCH64),
    }
    for path, content in files.items():
        place = tmp_path / "worker" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
        place.chmod(0o755)
    return tmp_path / "worker"


def test_for_another_processor_no_program_of_it_is_run(foreign, worker_tree, tmp_path) -> None:
    image = build(tmp_path / "osie", worker_tree, tmp_path / "cache", lambda _: None, architecture("aarch64"))
    made = tmp_path / "osie" / "aarch64"
    tree = unpacked((made / "initramfs").read_bytes())
    assert (image.architecture, image.kernel) == ("aarch64", ARM_KERNEL)
    assert tree["usr/bin/tinkbox"].content == b"#!/bin/sh\n"
    assert tree["usr/bin/python3"].mode & 0o111
    assert tree["usr/lib/aarch64-linux-gnu/libown.so"].content == elf(machine=AARCH64)
    assert "usr/lib/aarch64-linux-gnu/libssl.so.3" in tree
    assert tree["usr/lib/ld-linux-aarch64.so.1"].content == elf(machine=AARCH64)
    assert tree["usr/bin/busybox"].content == elf(machine=AARCH64)
    asked = foreign.options().splitlines()
    release = freedesktop_os_release()
    assert all(
        f"{release['ID']}-{release['VERSION_CODENAME']}-arm64" in line
        for line in asked
        if "APT::Architecture=arm64" in line
    )
    assert {"APT::Architecture=arm64" in line for line in asked if "linux-image-arm64" in line} == {True}
    assert {"APT::Architecture=arm64" in line for line in asked if "install" in line and "linux-image" not in line} == {
        False
    }


def test_a_program_for_this_processor_is_not_put_into_another_ones_osie(mirror, tmp_path) -> None:
    (tmp_path / "tinkbox").write_bytes(elf())
    with pytest.raises(Invalid, match=r"tinkbox is for another processor than aarch64 .*make worker-aarch64"):
        build(tmp_path / "osie", tmp_path / "tinkbox", tmp_path / "cache", lambda _: None, architecture("aarch64"))
    assert mirror.calls() == []


def test_an_unknown_architecture_is_refused_with_those_there_are() -> None:
    with pytest.raises(Invalid, match=r"no OSIE for 'm68k', only for x86_64 and aarch64"):
        architecture("m68k")


@pytest.mark.parametrize("script", ["init", "words", *SCRIPTS])
def test_every_script_is_one(script) -> None:
    subprocess.run(["sh", "-n", FILES / script], check=True)


def test_every_file_beside_the_scripts_travels() -> None:
    assert {path.name for path in FILES.iterdir()} == {
        "init", "words", "modules.txt", *SCRIPTS, *(f"modules-{name}.txt" for name in ARCHITECTURES),
    }  # fmt: skip


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
