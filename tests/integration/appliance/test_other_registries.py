"""A site without internet: images of docker.io and quay.io come from the appliance, and what it lacks from the site's mirror."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from examples.demo.appliance import Appliance, ApplianceFailed
from examples.lab.network import BRIDGE, Network
from tests.integration.registry.serving import configuration, digest_of, docker_archive, layer, manifest, tar
from tests.machine.hosts import Host
from tests.machine.lab import hardware, mac, until

MACHINES = 100
UPSTREAM = "172.30.0.99"
LAYER = layer({"wipe": b"w" * 1_000_000})
CONFIG = configuration([LAYER])
MANIFEST = manifest(CONFIG, [LAYER])
MIRRORS = f"registry: {{mirrors: {{quay.io: 'http://{UPSTREAM}:5000', docker.io: 'http://{UPSTREAM}:5000'}}}}\n"
TEMPLATE = """
version: "0.1"
name: NAME
tasks:
  - name: one
    worker: "{{.device_1}}"
    actions: [{name: it, image: "NAMED", timeout: 60}]
"""
# Serves the files of a folder under the names that a registry has, and prints each path that it is asked for.
SERVE = """
import http.server, pathlib, sys
class Answers(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        sys.stdout.write(self.path + "\\n")  # in one piece, for its threads write at once
        sys.stdout.flush()
        file = pathlib.Path(sys.argv[1]) / self.path.rpartition("/")[2]
        content = file.read_bytes() if file.is_file() else b"{}"
        self.send_response(200 if file.is_file() else 404)
        kind = "application/vnd.docker.distribution.manifest.v2+json" if "/manifests/" in self.path else "application/octet-stream"
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
    def log_message(self, *words):
        pass
http.server.ThreadingHTTPServer(("", 5000), Answers).serve_forever()
"""
# Pulls an image from many addresses at once, as machines do; prints the digests of what came.
PULL = """
import concurrent.futures, hashlib, http.client, json, sys
root, tag, last = sys.argv[1], sys.argv[2], int(sys.argv[3])
def get(number, path):
    connection = http.client.HTTPConnection("172.30.0.1", 80, timeout=60, source_address=(f"172.30.0.{100 + number}", 0))
    connection.request("GET", f"/v2/{root}/{path}")
    answer = connection.getresponse()
    content = answer.read()
    assert answer.status == 200, content
    return content
def pull(number):
    found = get(number, f"manifests/{tag}")
    listed = json.loads(found)
    for each in (listed["config"], *listed["layers"]):
        assert "sha256:" + hashlib.sha256(get(number, "blobs/" + each["digest"])).hexdigest() == each["digest"]
    return "sha256:" + hashlib.sha256(found).hexdigest()
with concurrent.futures.ThreadPoolExecutor(last) as pool:
    print(json.dumps(sorted(set(pool.map(pull, range(1, last + 1))))))
"""


@dataclass(frozen=True)
class Site:
    appliance: Appliance
    machines: Host
    work: Path

    def template(self, name: str, image: str) -> Path:
        file = self.work / f"{name}.yaml"
        file.write_text(TEMPLATE.replace("NAMED", image).replace("NAME", name))
        return file

    def plan(self, name: str) -> dict[str, object]:
        """What the only image of a template is, for the machine that there is."""
        words = ["workflow", "plan", "-t", name, "-r", json.dumps({"device_1": mac(1)}), "-o", "json"]
        done = subprocess.run(self.appliance.command_line(*words), capture_output=True, timeout=300, check=False)
        (plan,) = json.loads(done.stdout)
        return {**plan["actions"][0]["image"], "notes": [each["text"] for each in plan["notes"]]}

    def pull(self, repository: str, tag: str, times: int) -> list[str]:
        printed = self.machines.run(sys.executable, "-c", PULL, repository, tag, str(times), timeout=120)
        return list(json.loads(printed))


@pytest.fixture
def network() -> Iterator[Network]:
    with Network() as made:
        yield made


def _site(stack: ExitStack, network: Network, work: Path, settings: str) -> Site:
    osie = work / "none"
    osie.mkdir()
    appliance = Appliance(network, [sys.executable, "-m", "tinkbox"], work, osie, settings)
    machines = stack.enter_context(Host(network, [(BRIDGE, "172.30.0.21")]))
    until(appliance.ready, "the appliance to answer")
    file = work / "hardware.json"
    file.write_text(json.dumps(hardware(1)))
    appliance.command("hardware", "push", "--file", file)
    return Site(appliance, machines, work)


def test_the_first_machine_fetches_and_the_others_wait_for_it(network: Network, tmp_path: Path) -> None:
    with ExitStack() as stack:
        files = tmp_path / "upstream"
        files.mkdir()
        for name, content in (("v1", MANIFEST), (digest_of(CONFIG), CONFIG), (digest_of(LAYER), LAYER)):
            (files / name).write_bytes(content)
        site = _site(stack, network, tmp_path, MIRRORS)
        upstream = stack.enter_context(Host(network, [(BRIDGE, UPSTREAM)]))
        asked = tmp_path / "asked"
        with asked.open("wb") as output:
            upstream.start(sys.executable, "-c", SERVE, str(files), output=output)
        until(
            lambda: upstream.run("sh", "-c", "ss -Hltn sport = :5000 | wc -l").strip() == b"1", "the mirror to listen"
        )
        for number in range(1, MACHINES + 1):
            if 100 + number != 199:  # its own
                site.machines.run("ip", "address", "add", f"172.30.0.{100 + number}/24", "dev", "eth0")
        site.machines.run("ip", "address", "add", "172.30.0.199/24", "dev", "eth0")
        assert site.pull("quay.io/tools/wipe", "v1", MACHINES) == [digest_of(MANIFEST)]
        # Not `/v2/`, whether it answers, which is asked every few minutes; nor what Python's server says of who hangs up.
        paths = [each for each in asked.read_text().split("\n") if each.startswith("/v2/") and each != "/v2/"]
        assert Counter(paths) == {
            f"/v2/tools/wipe/{path}": 1
            for path in ("manifests/v1", f"blobs/{digest_of(CONFIG)}", f"blobs/{digest_of(LAYER)}")
        }
        site.appliance.command("template", "create", "--file", site.template("wipe", "quay.io/tools/wipe:v1"))
        until(lambda: site.plan("wipe")["digest"] == digest_of(MANIFEST), "the image to be kept")
        site.appliance.command("template", "create", "--file", site.template("short", "alpine:v1"))
        note = "not kept here: alpine:v1: the appliance asks the mirror of docker.io when a machine pulls"
        assert site.plan("short") == {"name": "alpine:v1", "digest": "", "elsewhere": True, "notes": [note]}
        assert site.pull("alpine", "v1", 1) == [digest_of(MANIFEST)]
        until(lambda: site.plan("short")["digest"] == digest_of(MANIFEST), "the official image to be kept")
        assert "/v2/library/alpine/manifests/v1" in asked.read_text().split()


def test_offline_what_was_loaded_is_served_and_what_is_missing_is_told(network: Network, tmp_path: Path) -> None:
    with ExitStack() as stack:
        site = _site(stack, network, tmp_path, MIRRORS.replace("{mirrors", "{offline: true, mirrors"))
        archive = tmp_path / "alpine.tar"
        archive.write_bytes(
            tar(
                docker_archive(
                    ["docker.io/library/alpine:3", "lab.example:5000/w:3", "tools/eraser:v1"], [LAYER]
                ).items()
            )
        )
        site.appliance.command("image", "load", archive)
        site.machines.run("ip", "address", "add", "172.30.0.101/24", "dev", "eth0")
        (digest,) = site.pull("docker.io/library/alpine", "3", 1)
        site.appliance.command("template", "create", "--file", site.template("alpine", "docker.io/alpine:3"))
        assert (site.plan("alpine")["digest"], site.plan("alpine")["notes"]) == (digest, [])
        site.appliance.command("template", "create", "--file", site.template("short", "alpine:3"))
        assert (site.plan("short")["digest"], site.plan("short")["notes"]) == (digest, [])
        for name, image in (("typed", "lab.example:5000/w:3"), ("kept", "lab.example_5000/w:3")):
            site.appliance.command("template", "create", "--file", site.template(name, image))
            assert (site.plan(name)["digest"], site.plan(name)["notes"]) == (digest, [])
        site.appliance.command("template", "create", "--file", site.template("wipe", "quay.io/tools/wipe:v1"))
        assert (site.plan("wipe")["digest"], site.plan("wipe")["elsewhere"]) == ("", False)
        devices = json.dumps({"device_1": mac(1)})
        with pytest.raises(ApplianceFailed, match=r"image quay\.io/tools/wipe:v1 is not in the registry"):
            site.appliance.command("workflow", "create", "-t", "wipe", "-r", devices, "--require-images")
        nowhere = f"quay.io/x:v1@sha256:{'0' * 64}"
        site.appliance.command("template", "create", "--file", site.template("by-digest", nowhere))
        assert (site.plan("by-digest")["digest"], site.plan("by-digest")["elsewhere"]) == ("", False)
        with pytest.raises(ApplianceFailed, match=f"image {nowhere} is not in the registry"):
            site.appliance.command("workflow", "create", "-t", "by-digest", "-r", devices, "--require-images")
        # As `docker save docker.io/tools/eraser:v1` names it in its archive.
        site.appliance.command("template", "create", "--file", site.template("eraser", "docker.io/tools/eraser:v1"))
        assert (site.plan("eraser")["digest"], site.plan("eraser")["notes"]) == (digest, [])
        assert site.pull("docker.io/tools/eraser", "v1", 1) == [digest]
