"""Machines that nobody knows, from their first question on: discovery behind the one planner, with real leases."""

from tests.integration.engine.appliance import Appliance, mac
from tests.integration.engine.boot.test_booting import Lab
from tests.integration.engine.discovery.test_discovery import begin, discovery, what, whose
from tests.integration.engine.lending import Lender, at
from tinkbox.model.boot import Asker, Boot
from tinkbox.model.discovery import Quotas
from tinkbox.wire.messages.inventory import Told


async def test_one_of_the_pool_is_lent_to_it_and_its_osie_and_stays_when_it_is_accepted(
    box: Appliance, lab: Lender
) -> None:
    found = discovery(box)
    booting = Lab(box, lab, "pool", found)
    plan = booting.plan(7)
    assert plan
    assert (plan.boot, plan.interface.address) == (Boot.DISCOVERY, at(0))
    assert not booting.has_script(7, str(at(0)))
    assert await lab.acknowledged(7, at(0))
    assert booting.has_script(7, str(at(0)))
    assert not booting.has_script(7, str(at(1)))
    plan = booting.plan(7, Asker.SYSTEM)
    assert plan
    assert (plan.boot, plan.interface.address) == (Boot.NOTHING, at(0))
    token = await begin(found, 7)
    await found.told(whose(found, token), Told(boot_id="boot-1", inventory=what(7)))
    await found.accept(mac(7), name="node")
    plan = booting.plan(7, Asker.SYSTEM)
    assert plan
    assert (plan.interface.address, plan.interface.hostname) == (at(0), "node")


async def test_a_flood_of_invented_machines_takes_no_more_addresses_than_places(box: Appliance, lab: Lender) -> None:
    booting = Lab(box, lab, "pool", discovery(box, Quotas(all=2, port=1)))
    answered = [booting.plan(number) is not None for number in range(100, 200)]
    assert answered.count(True) == 1
    assert len(lab.leases.all()) == 1


async def test_one_that_is_refused_is_answered_nothing(box: Appliance, lab: Lender) -> None:
    found = discovery(box)
    booting = Lab(box, lab, "pool", found)
    assert booting.plan(7)
    assert await lab.acknowledged(7, at(0))
    await found.refuse(mac(7))
    assert booting.plan(7) is None
    assert booting.plan(7, Asker.SYSTEM) is None
    assert not booting.has_script(7, str(at(0)))


async def test_beside_another_server_it_has_that_server_s_address_and_is_known_by_it(
    box: Appliance, lab: Lender
) -> None:
    booting = Lab(box, lab, "proxy", discovery(box))
    plan = booting.plan(7)
    assert plan
    assert (plan.boot, plan.interface.address, plan.lease) == (Boot.DISCOVERY, None, None)
    assert booting.plan(7, Asker.SYSTEM) is None
    assert not booting.has_script(7, "172.30.0.200")
    booting.neighbours["172.30.0.200"] = mac(7)
    assert booting.has_script(7, "172.30.0.200")
    booting.neighbours["172.30.0.201"] = mac(8)
    assert not booting.has_script(7, "172.30.0.201")
