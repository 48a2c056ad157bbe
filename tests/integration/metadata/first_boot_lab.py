"""An appliance whose workflow has sent a machine away to boot its new system, and the host that is that machine."""

import json
import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from examples.demo.appliance import Appliance
from examples.lab.network import BRIDGE, Network
from tests.machine.hosts import Host
from tests.machine.lab import address, hardware, mac, until
from tests.workers import opening
from tinkbox.wire.messages.session import encode as session
from tinkbox.wire.messages.worker import Hello, Leaving, Offer, decode_offer, encode

SERVER = "http://172.30.0.1"
MACHINE = 1
SECOND = "172.30.0.99"
CONFIGURATION = f"""
interface: {BRIDGE}
dhcp: {{mode: reservation}}
metadata: {{timezone: Europe/Berlin, by_address: all}}
"""
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPzLBq0ECGeuq4cPXCVWjVyBvqWUJPPWb1RKDaNwIbs4 ann@lab"
TEMPLATE = """
version: "0.1"
name: first-boot
metadata:
  hostname: node7
  ssh_keys: ["{key}"]
  user_data: |
    #cloud-config
    write_files: [{{path: /etc/from-user-data, content: hello}}]
{user_data}
  vendor_data: |
{vendor_data}
tasks:
  - name: install
    worker: "{{{{.device_1}}}}"
    actions:
      - {{name: first boot, image: x, timeout: 600, reboot: true, until: phone-home}}
"""


@dataclass(frozen=True)
class FirstBootLab:
    """`offer` is that of the action that waits for the system, `host` the machine."""

    appliance: Appliance
    host: Host
    offer: Offer

    @property
    def url(self) -> str:
        return f"{SERVER}{self.offer.metadata}"

    @property
    def token(self) -> str:
        return self.offer.metadata.removeprefix("/metadata/")

    def get(self, path: str) -> str:
        """What the machine is answered; raises when that is no success."""
        return self.host.run("curl", "-sSf", f"{SERVER}{path}").decode()

    def state(self) -> dict[str, Any]:
        shown = json.loads(self.appliance.command("workflow", "get", self.offer.workflow_id, "--format", "json"))
        return dict(shown)

    def ended(self) -> tuple[str, str, str]:
        """State, reason and message of the action, once it has ended."""

        def outcome() -> dict[str, Any] | None:
            (action,) = self.state()["actions"]
            return action if action["state"] != "LEAVING" else None

        found = until(outcome, "the action to end")
        told = found.get("outcome") or found
        return found["state"], told.get("reason", ""), told.get("message", "")

    def timeline(self) -> list[str]:
        """What the machine was seen at, with the details."""
        return [f"{each['stage']}: {each['detail']}" for each in self.appliance.timeline(mac(MACHINE))]


@contextmanager
def first_boot(
    work: Path,
    user_data: str = "",
    configuration: str = CONFIGURATION,
    vendor_data: str = "",
    second: dict[str, Any] | None = None,
    bonding_mode: int = 0,
) -> Iterator[FirstBootLab]:
    """`user_data` are more lines of the system's cloud-config, `second` is what the document says of a second card."""
    (work / "none").mkdir()
    with ExitStack() as stack:
        network = stack.enter_context(Network())
        appliance = Appliance(network, [sys.executable, "-m", "tinkbox"], work, work / "none", configuration)
        cables = [(BRIDGE, address(MACHINE)), *([(BRIDGE, SECOND)] if second else [])]
        host = stack.enter_context(Host(network, cables))
        host.run("ip", "link", "set", "eth0", "address", mac(MACHINE))
        if second:
            host.run("ip", "link", "set", "eth1", "address", second["mac"])
            host.run("ip", "address", "flush", "dev", "eth1")
        until(appliance.ready, "the appliance to answer")
        document, template = work / "hardware.json", work / "template.yaml"
        known = hardware(MACHINE, second=second)
        known["metadata"] = {**known.get("metadata", {}), "bonding_mode": bonding_mode}
        document.write_text(json.dumps(known))
        template.write_text(TEMPLATE.format(key=KEY, user_data=_block(user_data), vendor_data=_block(vendor_data)))
        appliance.command("hardware", "push", "--file", document)
        appliance.command("template", "create", "-n", "first-boot", "--file", template)
        appliance.command("workflow", "create", "-t", "first-boot", "-r", json.dumps({"device_1": mac(MACHINE)}))
        yield FirstBootLab(appliance, host, _sent_away(appliance, host))


def _block(text: str) -> str:
    return "\n".join(f"    {each}" for each in text.splitlines())


def _sent_away(appliance: Appliance, host: Host) -> Offer:
    """What the machine's worker does before it goes away."""
    credential = json.loads(appliance.command("hardware", "credential", mac(MACHINE)))
    wanted = opening(credential["token"], instance="")

    def post(path: str, bearer: str, body: str) -> bytes:
        return host.run("curl", "-sSf", "-H", f"Authorization: Bearer {bearer}", "-d", body, f"{SERVER}{path}")

    post("/worker/session", credential["token"], session(wanted))
    offer = decode_offer(post("/worker/next", wanted.secret, encode(Hello(boot_id="boot-1"))))
    leaving = encode(Leaving(workflow_id=offer.workflow_id, boot_id="boot-1"))
    post(f"/worker/attempts/{offer.attempt}/leaving", wanted.secret, leaving)
    assert re.fullmatch(r"/metadata/[\w-]{64}", offer.metadata)
    return offer
