"""A workflow that installs a system and waits for it, and that system, for tests of both."""

from dataclasses import dataclass

from tests.integration.engine.appliance import Appliance, address
from tinkbox.engine.metadata.installed_systems import Shown
from tinkbox.model.metadata import HostKey
from tinkbox.wire.messages.worker import Offer
from tinkbox.wire.metadata.write_back import PhoneHome, Report

INSTALL = """\
version: "0.1"
name: install
metadata:
  hostname: node7
  ssh_keys: [ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDcf ann@lab]
  user_data: |
    #cloud-config
    packages: [curl]
tasks:
  - name: install
    worker: "{{.device_1}}"
    actions:
      - {name: image, image: x, timeout: 60}
      - {name: first boot, image: x, timeout: 300, reboot: true, until: phone-home}
"""
KEYS = (HostKey(kind="ed25519", fingerprint="SHA256:abc"), HostKey(kind="rsa", fingerprint="SHA256:def"))
UP = "machine-1 is up at 172.30.0.11, host key SHA256:abc (ed25519)"


@dataclass
class Installed:
    """A system that a workflow installed on machine 1."""

    box: Appliance
    offer: Offer
    worker: str
    address: str = address(1)

    @property
    def token(self) -> str:
        return self.offer.metadata.removeprefix("/metadata/")

    async def shown(self) -> Shown:
        return await self.box.installed_systems.shown(self.token, self.address)

    async def phone_home(self, *keys: HostKey, lost: bool = False) -> None:
        host_keys = () if lost else keys or KEYS
        told = PhoneHome(instance_id="i", hostname="node7", host_keys=host_keys, keys_lost=lost)
        await self.box.write_back.phoned_home(await self.shown(), told, self.address)

    async def report(self, name: str, result: str = "SUCCESS", description: str = "", *, ended: bool = True) -> None:
        report = Report(name=name, ended=ended, result=result, description=description)
        await self.box.write_back.reported(await self.shown(), report, self.address)

    async def states(self) -> list[str]:
        workflow = await self.box.workflows.get(self.offer.workflow_id)
        return [workflow.state, *(each.state for each in workflow.actions)]

    async def outcome(self) -> tuple[str, str]:
        """Reason and message of the last action."""
        outcome = (await self.box.workflows.get(self.offer.workflow_id)).actions[-1].outcome
        assert outcome is not None
        return outcome.reason, outcome.message


async def going(box: Appliance, text: str = INSTALL) -> Installed:
    """Machine 1 has written its image and went away to boot it."""
    worker = await box.machine(1)
    await box.workflow(text)
    while (offer := await box.offer(worker)) is not None and not offer.action.spec.reboot:
        await box.report(worker, offer)
    assert offer is not None
    await box.leave(worker, offer)
    return Installed(box, offer, worker)
