"""The field's clients at an appliance's doors over HTTPS, each told of the box's authority as its own documentation has it."""

import base64
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from examples.demo.appliance import Appliance
from examples.lab.network import Network
from tests.integration.docker_engine import DockerEngine, docker_engine_in
from tests.integration.registry.test_routes_docker import _saved
from tests.machine.lab import until

BOX, OTHER = "172.30.0.1", "172.30.0.2"
CERTS = Path("/etc/docker/certs.d")
PATIENCE = 120


@dataclass
class Box:
    """An appliance that speaks HTTPS at BOX, and the Docker engine of a host beside it, which knows nothing of it yet."""

    appliance: Appliance
    network: Network
    engine: DockerEngine

    @property
    def authority(self) -> Path:
        return self.appliance.data / "tls" / "authority.pem"

    @property
    def token(self) -> str:
        return (self.appliance.data / "operator.token").read_text().strip()

    def run(self, *command: str | Path, stdin: bytes = b"") -> "subprocess.CompletedProcess[str]":
        """A program on the box's network."""
        inside = self.network.inside(list(map(str, command)))
        done = subprocess.run(inside, input=stdin, capture_output=True, timeout=PATIENCE, check=False)
        return subprocess.CompletedProcess(inside, done.returncode, done.stdout.decode(), done.stderr.decode())

    def trust(self) -> None:
        """Have the engine trust the box's authority, as docs/operating.md says; none of this host's files changes."""
        script = f'mount -t tmpfs certs "$0" && mkdir -p {CERTS}/{BOX} && cat > {CERTS}/{BOX}/ca.crt'
        command = self.engine.beside(["sh", "-ec", script, str(CERTS.parent)])
        subprocess.run(command, input=self.authority.read_bytes(), timeout=PATIENCE, check=True)


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    work = tmp_path_factory.mktemp("box")
    (work / "none").mkdir()
    CERTS.parent.mkdir(exist_ok=True)  # where another file system is mounted, in the engine's own view
    with ExitStack() as stack:
        network = stack.enter_context(Network())
        appliance = Appliance(network, [sys.executable, "-m", "tinkbox"], work, work / "none")
        engine = stack.enter_context(docker_engine_in(network=network.path))
        until(appliance.ready, "the appliance to answer")
        network.run(["ip", "address", "add", f"{OTHER}/24", "dev", network.interface])
        yield Box(appliance, network, engine)


def test_curl_trusts_the_authority_and_nothing_else(box: Box) -> None:
    bearer = f"Authorization: Bearer {box.token}"
    for url in (f"https://{BOX}/worker/time", "https://127.0.0.1:7080/healthz"):
        asked = ("curl", "--silent", "--show-error", "--fail", "--header", bearer, url)
        assert box.run(*asked, "--cacert", box.authority).returncode == 0
        unknown = box.run(*asked)
        assert (unknown.returncode, "certificate" in unknown.stderr) == (60, True)
        one = box.run(*asked, "--cacert", box.authority, "--tlsv1.2", "--tls-max", "1.2")
        assert one.returncode == 0
        old = box.run(*asked, "--cacert", box.authority, "--tls-max", "1.1")
        assert old.returncode == 35


def test_docker_logs_in_pushes_and_pulls_once_it_has_the_authority(box: Box, tmp_path: Path) -> None:
    name = f"{BOX}/tools/made-here:v1"
    box.engine.cli("load", stdin=_saved())
    (image,) = box.engine.cli("images", "--format", "{{.Repository}}:{{.Tag}}").stdout.split()
    box.engine.cli("tag", image, name)
    log_in = ("login", "--username", "me", "--password-stdin", BOX)
    refused = box.engine.cli(*log_in, stdin=box.token.encode(), check=False)
    assert refused.returncode != 0
    assert "certificate signed by unknown authority" in refused.stderr
    box.trust()
    assert "Login Succeeded" in box.engine.cli(*log_in, stdin=box.token.encode()).stdout
    box.engine.cli("push", name)
    box.engine.cli("rmi", name, image)
    box.engine.cli("pull", name)
    box.engine.cli("rmi", name)


def test_skopeo_copies_with_a_folder_of_the_authority(box: Box, tmp_path: Path) -> None:
    packed, certs = tmp_path / "packed.tar", tmp_path / "certs"
    packed.write_bytes(_saved())
    certs.mkdir()
    (certs / "ca.crt").write_bytes(box.authority.read_bytes())
    copy = ("skopeo", "--insecure-policy", "copy", f"--dest-creds=me:{box.token}", f"docker-archive:{packed}")
    target = f"docker://{BOX}/tools/copied:v1"
    assert "certificate signed by unknown authority" in box.run(*copy, target).stderr
    assert box.run(*copy, f"--dest-cert-dir={certs}", target).returncode == 0
    tags = box.run("skopeo", "list-tags", f"--cert-dir={certs}", f"docker://{BOX}/tools/copied")
    assert json.loads(tags.stdout)["Tags"] == ["v1"]


def test_a_token_over_plain_http_is_refused_with_the_way_out_and_pulling_is_not(box: Box, tmp_path: Path) -> None:
    packed = tmp_path / "packed.tar"
    packed.write_bytes(_saved())
    copy = ("skopeo", "--insecure-policy", "copy", "--dest-tls-verify=false", f"--dest-creds=me:{box.token}")
    # What comes from the box's own host crosses no wire.
    done = box.run(*copy, f"docker-archive:{packed}", f"docker://{BOX}:80/tools/plain:v1")
    assert done.returncode == 0, done.stderr
    basic = base64.b64encode(f"me:{box.token}".encode()).decode()
    for header in (f"Authorization: Basic {basic}", f"Authorization: Bearer {box.token}"):
        for url in (f"http://{BOX}/v2/token", f"http://{BOX}/v2/tools/plain/blobs/uploads/"):
            method = "GET" if url.endswith("token") else "POST"
            asked = box.run("curl", "--silent", "--request", method, "--header", header, "--interface", OTHER, url)
            assert f"push to https://{BOX}" in asked.stdout
    assert box.run("curl", "--silent", "--fail", "--interface", OTHER, f"http://{BOX}/v2/token").returncode == 0


def test_the_doctor_names_the_host_that_did_not_take_the_certificate(box: Box) -> None:
    assert box.run("curl", "--silent", f"https://{BOX}/worker/time").returncode == 60
    told = json.loads(_doctor(box.appliance))
    causes = [each["cause"] for each in told["diagnoses"] if each["rule"] == "CertificateRefused"]
    assert any("does not trust this box's certificate" in each for each in causes), told


def _doctor(appliance: Appliance) -> str:
    command: Sequence[str] = appliance.command_line("doctor", "-o", "json")
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False).stdout
