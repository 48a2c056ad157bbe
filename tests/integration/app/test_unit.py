"""systemd/tinkbox.service: what it leaves an appliance is little, and enough."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.everybodys_checkout import BEFORE, PYTHON, there
from tests.integration.app.as_unit import USER
from tests.integration.cli.serving import PROGRAM, ROOT, Configuration, give_osie, run, serving

UNIT = ROOT / "systemd" / "tinkbox.service"
SERVICES = ROOT / "systemd" / "services.conf"
JINJA = "version: '0.1'\nname: x\ntasks: [{name: '{% if true %}os{% endif %}', worker: '{{ device_1 }}', actions: [{name: a, image: b}]}]\n"
DEVICES = '{"device_1": "08:00:27:00:00:01"}'
# tinkbox with the unit's rights, in a network namespace of its own.
AS_UNIT = [
    *BEFORE, "unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$0" "$@"',
    PYTHON, there(ROOT / "tests/integration/app/as_unit.py"), there(UNIT), PYTHON, *PROGRAM[1:],
]  # fmt: skip
needs_systemd = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")


@pytest.fixture(params=[False, True], ids=["alone", "with services.conf"])
def installed(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, int]:
    """The unit, and ten times the exposure that docs/security.md says it has."""
    unit = shutil.copy(UNIT, tmp_path)
    if request.param:
        folder = tmp_path / f"{UNIT.name}.d"
        folder.mkdir()
        shutil.copy(SERVICES, folder)
    return unit, 21 if request.param else 19


@needs_systemd
def test_the_exposure_of_the_unit_is_what_the_docs_say(installed: tuple[Path, int]) -> None:
    unit, rating = installed
    command = ["systemd-analyze", "security", "--offline=yes", "--no-pager", f"--threshold={rating}", str(unit)]
    rated = subprocess.run(command, capture_output=True, text=True, check=False)
    assert rated.returncode == 0, rated.stdout


@needs_systemd
def test_the_docs_explain_every_line_of_the_exposure(installed: tuple[Path, int]) -> None:
    command = ["systemd-analyze", "security", "--offline=yes", "--no-pager", str(installed[0])]
    rated = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    left = [line.split()[1] for line in rated.splitlines() if line.startswith("✗")]
    explained = (ROOT / "docs" / "security.md").read_text().replace("\\|", "|")
    assert [name for name in left if f"`{name}`" not in explained] == []


@pytest.fixture
def configuration() -> Iterator[Configuration]:
    """A folder that the unit's user may enter, with a data folder of theirs."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        folder.chmod(0o755)
        data = folder / "data"
        data.mkdir(mode=0o700)
        os.chown(data, int(USER), int(USER))
        path = folder / "tinkbox.yaml"
        path.write_text(
            f"data: {data}\ninterface: lo\naddress: 127.0.0.1\ndocker: unix:///nowhere\nmetadata: {{ports: []}}\n"
        )
        path.chmod(0o644)  # whatever umask a test before left
        yield Configuration(path, data, 7080, 80, 443, 69)


@needs_systemd
@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user, in a network namespace")
def test_an_appliance_under_the_units_rights_serves_all_it_has(configuration: Configuration) -> None:
    """With all ports below 1024, bound to interfaces; Jinja2 is rendered, and the doctor asks on the wire."""
    data = ("--data", str(configuration.data))
    with serving(configuration, AS_UNIT) as process:
        known = Path(f"/proc/{process.pid}/status").read_text()
        assert f"Uid:\t{USER}\t" in known
        assert "CapEff:\t0000000000002400" in known
        judged = run(*data, "template", "validate", "--file", "/dev/stdin", "-r", DEVICES, stdin=JINJA.encode())
        assert "push its hardware document first" in judged.out + judged.err
        diagnosed = run(*data, "doctor")
        # Its own firewall it may not read, and says so.
        assert "other DHCP servers" not in " ".join(diagnosed.out.split()).partition("Not examined:")[2]
        assert "no right" not in diagnosed.err
        assert run(*data, "status").status == 0
    assert not [each for each in configuration.data.iterdir() if each.lstat().st_uid != int(USER)]


@needs_systemd
@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user, in a network namespace")
def test_root_checks_beside_the_unit_and_leaves_its_ports_and_files_alone(configuration: Configuration) -> None:
    configuration.path.chmod(0o644)
    give_osie(configuration.data)
    for each in configuration.data.rglob("*"):
        os.chown(each, int(USER), int(USER))
    with serving(configuration, AS_UNIT) as process:
        check = [PYTHON, "-m", "tinkbox", "serve", "--config", str(configuration.path), "--check"]
        beside = ["nsenter", f"--target={process.pid}", "--net", *BEFORE, *check]
        checked = subprocess.run(beside, capture_output=True, text=True, cwd=ROOT, check=False)
        assert (checked.returncode, checked.stderr) == (0, ""), checked.stdout
        assert f"checked for the user {USER}, who owns {configuration.data}" in checked.stdout
        assert f"runs already with this data folder (pid {process.pid}): its ports were not tried" in checked.stdout
        assert "it was not tried" not in checked.stdout
        assert run("--data", str(configuration.data), "status").status == 0
    assert not [each for each in configuration.data.rglob("*") if each.lstat().st_uid != int(USER)]
