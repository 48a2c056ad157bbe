"""The packed executable does what the program from source does, wherever programs are allowed to start."""

import subprocess
from pathlib import Path

import pytest

from tests.integration.cli.serving import ROOT, configure, run_here, serving
from tests.system_disks import convert, raw_disk
from tinkbox import __version__

PACKED = ROOT / "dist" / "tinkbox"
TEMPLATE = """\
version: "0.1"
name: t
tasks:
  - name: t
    worker: "{{ device_1 }}"
    actions: [{name: a, image: quay.io/x, environment: {A: "EXPRESSION"}}]
"""


@pytest.fixture(autouse=True)
def packed() -> None:
    assert PACKED.exists(), f"{PACKED.relative_to(ROOT)} is missing: `make test` builds it before it runs the tests"


def test_templates_render_and_nothing_is_unpacked(tmp_path: Path) -> None:
    unpacked = tmp_path / "unpacked"
    unpacked.mkdir()
    configuration = configure(tmp_path)
    here = ("--data", str(configuration.data))
    hardware = str(ROOT / "examples" / "demo" / "hardware.json")

    def validated(text: str) -> tuple[int, str]:
        ended = run_here(*here, "template", "validate", stdin=text.encode())
        told = [each for each in ended.err.splitlines(keepends=True) if "not kept here: quay.io/x" not in each]
        return ended.status, ended.out + "".join(told)

    with serving(configuration, [str(PACKED)], {"TMPDIR": str(unpacked)}):
        assert run_here(*here, "hardware", "push", "--file", hardware).status == 0
        jinja = TEMPLATE.replace("EXPRESSION", "{{ hardware.metadata.name | upper }}")
        assert validated(jinja) == (0, "server001: ok\nthe template is valid\n")
        go = TEMPLATE.replace("{{ d", "{{ .d").replace(
            "EXPRESSION", "{{ regexReplaceAll `(a|b)+` .device_1 `x` | sha256sum }}"
        )
        assert validated(go) == (0, "server001: ok\nthe template is valid\n")
        status, said = validated(TEMPLATE.replace("EXPRESSION", "{{ 9 ** (9 ** 9) }}"))
        assert (status, "rendering takes more than 5 seconds" in said) == (1, True)
        assert validated(jinja)[0] == 0
        assert list(unpacked.iterdir()) == []
    assert list(unpacked.iterdir()) == []


def test_it_starts_where_no_folder_lets_programs_be_mapped() -> None:
    # What a hardened host does to /tmp, here done to everything that can be written.
    script = """
        exec 3<"$1"
        mount -t tmpfs -o mode=755 program /mnt && cp /proc/self/fd/3 /mnt/tinkbox && chmod 755 /mnt/tinkbox
        for each in /tmp /var/tmp /dev/shm /run; do mount -t tmpfs -o noexec,mode=1777 closed $each; done
        cd /tmp; cp /bin/true true; ./true && exit 9
        /mnt/tinkbox --data /tmp/data serve --check
        /mnt/tinkbox version
    """
    command = ["unshare", "--mount", "sh", "-c", script, "sh", str(PACKED)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.endswith(f"tinkbox {__version__}\n")
    assert "Docker engine" in ended.stdout, ended.stderr  # the last that it looks at
    assert "Traceback" not in ended.stderr


def test_a_link_named_tink_prints_as_in_2020(tmp_path: Path) -> None:
    configuration = configure(tmp_path)
    (tmp_path / "tink").symlink_to(PACKED)
    with serving(configuration):
        command = [str(tmp_path / "tink"), "--data", str(configuration.data), "template", "list"]
        ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines()[1] == "| TEMPLATE ID | TEMPLATE NAME | CREATED AT | UPDATED AT |"


def test_no_home_and_no_environment_are_needed() -> None:
    ended = subprocess.run(["env", "-i", str(PACKED), "version"], capture_output=True, text=True, check=True)
    assert (ended.stdout, ended.stderr) == (f"tinkbox {__version__}\n", "")


def test_a_disk_image_is_taken_apart_by_the_packed_program(tmp_path: Path) -> None:
    """In confinement nothing can be loaded any more, neither from the program nor from its memory."""
    raw_disk(tmp_path / "disk.raw")
    convert(tmp_path / "disk.raw", tmp_path / "disk.qcow2", "-c", "-o", "compression_type=zstd")
    subprocess.run(["xz", "-0", str(tmp_path / "disk.qcow2")], check=True)
    configuration = configure(tmp_path)
    command = [str(PACKED), "--data", str(configuration.data), "image", "import", str(tmp_path / "disk.qcow2.xz")]
    with serving(configuration, [str(PACKED)]):
        ended = subprocess.run(
            [*command, "--id", "lab-debian", "--scratch", str(tmp_path)], capture_output=True, text=True, check=False
        )
        assert (ended.returncode, ended.stdout[:20], ended.stderr) == (0, "Imported lab-debian:", "")
