"""The last release whose operator door spoke plain HTTP, out of the history: what its users have and type, after an upgrade."""

import json
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from tests.integration.cli.serving import PROGRAM, ROOT, Configuration, Ended, clean_environment, configure, serving
from tests.integration.engine.appliance import HELLO, hardware, mac
from tinkbox.boot.http.loaders import FOLDER as LOADERS
from tinkbox.worker.files.toolbox import TOOLS

COMMIT = "87f0a1fd"
pytestmark = pytest.mark.campaign
PEOPLE = "people: {anna: [look], ci: [look, operate]}"


@dataclass(frozen=True)
class Upgraded:
    """A data folder of that release, which ended by kill -9; `tokens` are what its people have, `release` how it is run."""

    configuration: Configuration
    release: list[str]
    tokens: Mapping[str, str]

    def type(self, *command: str, person: str, program: list[str], scheme: str, trust: bool = False) -> Ended:
        """What a person's script on another host types."""
        server = {"TINKBOX_SERVER": f"{scheme}://127.0.0.1:{self.configuration.operator_port}"}
        known = {"SSL_CERT_FILE": str(self.configuration.authority)} if trust else {}
        environment = {**clean_environment(), **server, **known, "TINKBOX_TOKEN": self.tokens[person]}
        done = subprocess.run(
            [*program, *command], capture_output=True, text=True, cwd=ROOT, env=environment, timeout=60, check=False
        )
        return Ended(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """How that release is run."""
    folder = tmp_path_factory.mktemp("release")
    packed = subprocess.run(["git", "archive", COMMIT, "tinkbox"], cwd=ROOT, capture_output=True, check=False)
    if packed.returncode != 0:
        pytest.skip(f"the history of this clone does not reach back to {COMMIT}")
    subprocess.run(["tar", "x", "-C", folder], input=packed.stdout, check=True)
    shutil.copytree(TOOLS, folder / "tinkbox" / "worker" / "tools")
    shutil.copytree(LOADERS, folder / "tinkbox" / "boot" / "loaders")
    return ["env", "-C", str(folder), sys.executable, "-m", "tinkbox"]


@pytest.fixture(scope="module")
def upgraded(tmp_path_factory: pytest.TempPathFactory, release: list[str]) -> Upgraded:
    folder = tmp_path_factory.mktemp("appliance")
    configuration = configure(folder)
    today = configuration.path.read_text().replace("group: off", f"group: off, {PEOPLE}")
    # That release does not know the port.
    configuration.path.write_text(today.replace(f" https_port: {configuration.https_port},", ""))
    with serving(configuration, release) as process:
        data = configuration.data
        tokens = {path.stem: path.read_text().strip() for path in (data / "people").glob("*.token")}
        made = Upgraded(configuration, release, {**tokens, "operator": (data / "operator.token").read_text().strip()})
        (folder / "hello.yaml").write_text(HELLO)
        (folder / "machine.json").write_text(json.dumps(hardware(1)))
        for command in (
            ("hardware", "push", "--file", str(folder / "machine.json")),
            ("template", "create", "-n", "hello", "--file", str(folder / "hello.yaml")),
            ("workflow", "create", "-t", "hello", "-r", json.dumps({"device_1": mac(1)})),
        ):
            done = made.type(*command, person="ci", program=release, scheme="http")
            assert done.status == 0, done.err
        process.kill()
    configuration.path.write_text(today)
    return made


def test_a_check_before_the_upgrade_tells_which_tokens_go_on_and_which_files_are_deleted(upgraded: Upgraded) -> None:
    command = [*PROGRAM, "serve", "--check", "--config", str(upgraded.configuration.path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=60, check=False)
    said = done.stdout + done.stderr
    assert "operator.people does nothing any more" in said
    assert "takes over the tokens of anna, ci, which go on working, and deletes their files" in said
    assert sorted(path.stem for path in (upgraded.configuration.data / "people").iterdir()) == ["anna", "ci"]


def test_what_people_type_is_refused_with_the_way_out_or_goes_on(upgraded: Upgraded) -> None:
    with serving(upgraded.configuration):
        for person, program in (("ci", upgraded.release), ("ci", PROGRAM)):
            said = upgraded.type("workflow", "list", person=person, program=program, scheme="http")
            assert (said.status != 0, "https://" in said.err) == (True, True), said
        for person in ("operator", "ci", "anna"):
            for program in (upgraded.release, PROGRAM):
                told = upgraded.type("workflow", "list", person=person, program=program, scheme="https", trust=True)
                assert (told.status, "hello" in told.out) == (0, True), told
        asked = upgraded.type("template", "delete", "hello", person="anna", program=PROGRAM, scheme="https", trust=True)
        assert "anna (look) lacks the right to operate" in asked.err
        url = f"http://127.0.0.1:{upgraded.configuration.operator_port}/metrics"
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(url, timeout=30)
        with refused.value as answer:
            assert (answer.status, b"https://" in answer.read()) == (400, True)


def test_who_goes_back_is_told_to_take_the_backup(upgraded: Upgraded) -> None:
    with serving(upgraded.configuration):
        pass
    before = upgraded.configuration.path.read_text()
    try:
        upgraded.configuration.path.write_text(before.replace(f" https_port: {upgraded.configuration.https_port},", ""))
        command = [*upgraded.release, "serve", "--config", str(upgraded.configuration.path)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    finally:
        upgraded.configuration.path.write_text(before)
    assert done.returncode == 1
    assert "put a backup of the data folder in its place that was made before the upgrade" in done.stderr
