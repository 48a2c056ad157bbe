"""The addresses that are lent, over the operator door."""

from datetime import UTC, datetime
from ipaddress import IPv4Address

from tests.integration.api.door import Door
from tests.integration.engine.appliance import hardware, mac
from tinkbox.model.leases import Lease, LeaseState


async def test_leases_are_listed_with_the_machines_that_have_them(door: Door) -> None:
    assert await door.done("GET", "/v1/leases") == []
    machine = (await door.done("POST", "/v1/hardware", hardware(1)))["id"]
    until = datetime(2026, 11, 21, 4, tzinfo=UTC)
    door.lent += [
        Lease(
            address=IPv4Address("172.30.0.100"),
            mac=mac(1),
            state=LeaseState.BOUND,
            until=until,
            seconds=3600,
            client_id=b"\x01\xab",
            hostname="lab-1",
            proven=True,
        ),
        Lease(address=IPv4Address("172.30.0.101"), mac=mac(9), state=LeaseState.DECLINED, until=until, seconds=600),
    ]
    known, stranger = await door.done("GET", "/v1/leases")
    assert known == {
        "address": "172.30.0.100",
        "mac": mac(1),
        "state": "bound",
        "until": "2026-11-21T04:00:00+00:00",
        "hostname": "lab-1",
        "client_id": "01:ab",
        "proven": True,
        "hardware_id": machine,
    }
    assert (stranger["state"], stranger["client_id"], stranger["hardware_id"]) == ("declined", "", "")
