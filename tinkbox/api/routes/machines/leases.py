"""`/v1/leases`: every address of a pool that was lent, in their order."""

from collections.abc import Callable, Sequence
from typing import TypedDict

from aiohttp import web

from tinkbox.api.access import needing
from tinkbox.api.answers import Json
from tinkbox.api.json_values import Time
from tinkbox.api.long_answers import in_turn, json_list
from tinkbox.model.access import Right
from tinkbox.model.hardware import MacAddress
from tinkbox.model.leases import Lease, LeaseState


class LeaseDocument(TypedDict):
    address: str
    mac: str
    state: LeaseState
    until: Time
    hostname: str
    client_id: str
    proven: bool
    hardware_id: str


def routes(leases: Callable[[], Sequence[Lease]], holder: Callable[[MacAddress], str]) -> list[web.RouteDef]:
    """`holder` gives the id of the hardware that has a MAC, or nothing."""

    async def show_list(_: web.Request) -> Json[list[LeaseDocument]]:
        """Every address of a pool that was lent."""
        return await json_list(leases(), lambda each: lease(each, holder(each.mac)))

    return needing(Right.LOOK, *in_turn(web.get("/v1/leases", show_list)))


def lease(lent: Lease, hardware_id: str) -> LeaseDocument:
    """`until` is when it is over, or was; of a declined or taken one, until when it is kept out of the pool."""
    return {
        "address": str(lent.address),
        "mac": lent.mac,
        "state": lent.state,
        "until": lent.until.isoformat(),
        "hostname": lent.hostname,
        "client_id": lent.client_id.hex(":"),
        "proven": lent.proven,
        "hardware_id": hardware_id,
    }
