"""A machine that nobody knows, with the worker's own process, a real engine and the appliance's own process.

Both processes are killed on the way, each where it would hurt.
"""

import asyncio
import json
from datetime import UTC, datetime
from typing import Any

from tests.integration.cli.serving import serving
from tests.integration.engine.appliance import mac
from tests.integration.worker.machine import IMAGE, Lab, until
from tinkbox.engine.machines.boot_tickets import BootTicket, Kind, Seal
from tinkbox.model.discovery import Standing, Stranger
from tinkbox.private_files import kept_secret
from tinkbox.store.database import Store

GUEST = mac(7)


def let_in(lab: Lab) -> None:
    """As a machine that fetched its boot script from the appliance before that was switched off."""

    async def stored() -> None:
        store = await Store.open(lab.configuration.data / "tinkbox.sqlite")
        now = datetime.now(UTC)
        guest = Stranger(
            mac=GUEST, standing=Standing.BOOTING, port="lo", first_seen=now, last_seen=now
        )  # fmt: skip
        async with asyncio.TaskGroup() as group:
            writer = group.create_task(store.run())
            await store.write(lambda tables: tables.discovery.put([guest]))
            writer.cancel()
        await store.close()

    asyncio.run(stored())
    path = lab.folder / "worker.json"
    seal = Seal(kept_secret(lab.configuration.data / "boot.key").encode())
    ticket = seal.sealed(BootTicket(kind=Kind.DISCOVERY, holder=GUEST, address="127.0.0.1", serial=1))
    credential = json.loads(path.read_text())
    path.write_text(json.dumps(credential | {"worker": GUEST, "token": ticket, "discovery": True}))


def template(lab: Lab) -> None:
    action = {"name": "only", "image": IMAGE, "command": ["/bin/busybox", "sh", "-c", "echo done"], "timeout": 60}
    task = {"name": "task", "worker": "{{.device_1}}", "actions": [action]}
    text = json.dumps({"version": "0.1", "name": "install", "global_timeout": 600, "tasks": [task]})
    lab.tinkbox("template", "create", "-n", "install", stdin=text.encode())


def waiting(lab: Lab) -> dict[str, Any] | None:
    (found,) = json.loads(lab.tinkbox("hardware", "discovered", "--format", "json"))
    return dict(found) if found["standing"] == "waiting" else None


def test_it_tells_waits_is_accepted_and_works_through_the_ends_of_both_sides(lab: Lab) -> None:
    let_in(lab)
    with lab.working() as worker:
        with serving(lab.configuration) as appliance:
            template(lab)
            until(lambda: waiting(lab) is not None, "the machine to tell what it is")
            worker.kill()
            told = waiting(lab)
            assert told
            assert told["inventory"]["memory"] > 0
            accepted = lab.tinkbox("hardware", "accept", GUEST, "--name", "node", "--template", "install")
            appliance.kill()
            appliance.wait()
        with lab.working() as again, serving(lab.configuration):
            workflow = accepted.split()[-1]
            assert lab.finished(workflow) == "SUCCESS"
            assert "accepted as machine" in again.said
            machine = json.loads(lab.tinkbox("hardware", "get", "node", "--format", "json"))
            assert machine["interfaces"][0]["mac"] == GUEST
            until(lambda: lab.containers() == [], "the container's removal")


def test_a_known_machine_tells_what_it_is_made_of(lab: Lab) -> None:
    def told() -> bool:
        machine = json.loads(lab.tinkbox("hardware", "get", mac(1), "--format", "json"))
        return machine["inventory"] is not None

    with serving(lab.configuration):
        assert not told()
        with lab.working():
            until(told, "the machine to tell what it is made of")
