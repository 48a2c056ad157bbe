import asyncio
from dataclasses import replace
from ipaddress import IPv4Network
from pathlib import Path

import pytest

from tests.unit.hosting.rig import Rig
from tests.unit.hosting.virtual_time import run
from tinkbox.hosting.networks import Networks
from tinkbox.runtime import ContainerFailed, ContainerSpec


def test_workflows_get_the_first_subnets_that_are_free(tmp_path: Path) -> None:
    async def story() -> None:
        rig = Rig(tmp_path)
        await rig.engine.create_network("somebody's", IPv4Network("10.213.0.16/29"), {})
        networks = Networks(rig.engine, rig.place)
        rig.engine.taken = [IPv4Network("10.213.0.32/28")]  # the engine knows, and does not say
        for workflow in ("w1", "w2", "w3"):
            await networks.of(workflow)
        made = [(name, str(each.subnets[0])) for name, each in rig.engine.nets.values()][1:]
        assert made == [
            ("tinkbox-w1", "10.213.0.0/28"), ("tinkbox-w2", "10.213.0.48/28"), ("tinkbox-w3", "10.213.0.64/28"),
        ]  # fmt: skip

    run(story)


def test_services_that_begin_at_once_get_one_network(tmp_path: Path) -> None:
    async def story() -> None:
        rig = Rig(tmp_path)
        networks = Networks(rig.engine, rig.place)
        async with asyncio.TaskGroup() as group:
            asked = [group.create_task(networks.of("w1")) for _ in range(5)]
        assert len({each.result() for each in asked}) == 1
        assert await Networks(rig.engine, rig.place).of("w1") == asked[0].result()
        assert len(rig.engine.nets) == 1

    run(story)


def test_two_hosts_have_networks_of_their_own_for_what_they_call_the_same(tmp_path: Path) -> None:
    async def story() -> None:
        rig = Rig(tmp_path)
        other = Networks(rig.engine, replace(rig.place, host="h2"))
        assert await Networks(rig.engine, rig.place).of("w1") != await other.of("w1")
        await other.sweep(lambda workflow: False)
        assert [each.labels["tinkbox.host"] for _, each in rig.engine.nets.values()] == ["h1"]

    run(story)


def test_without_subnets_services_have_the_machines_network(tmp_path: Path) -> None:
    async def story() -> None:
        rig = Rig(tmp_path, subnets=None)
        assert await Networks(rig.engine, rig.place).of("w1") == "host"
        assert rig.engine.nets == {}

    run(story)


@pytest.mark.parametrize("subnets", ["10.213.0.0/28", "10.213.0.0/30"])
def test_when_no_subnet_is_free_that_is_said(tmp_path: Path, subnets: str) -> None:
    async def story() -> None:
        rig = Rig(tmp_path, subnets=IPv4Network(subnets))
        networks = Networks(rig.engine, rig.place)
        await networks.of("w1")
        with pytest.raises(ContainerFailed, match=subnets) as refusal:
            await networks.of("w2")
        assert refusal.value.reason == "NetworkFailed"

    run(story)


def test_what_the_engine_refuses_otherwise_fails_for_that_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        rig = Rig(tmp_path)

        async def broken(*arguments: object) -> None:
            raise ContainerFailed("EngineFailed", "no bridges here")

        monkeypatch.setattr(rig.engine, "create_network", broken)
        with pytest.raises(ContainerFailed, match="no bridges") as refusal:
            await Networks(rig.engine, rig.place).of("w1")
        assert refusal.value.reason == "NetworkFailed"

    run(story)


def test_networks_that_nobody_needs_are_removed_as_soon_as_they_are_empty(tmp_path: Path) -> None:
    async def story() -> None:
        rig = Rig(tmp_path)
        networks = Networks(rig.engine, rig.place)
        for workflow in ("w1", "w2", "w3"):
            await networks.of(workflow)
        image = next(iter(rig.engine.programs))
        used = await rig.engine.create(ContainerSpec(image=image, labels={}, network=await networks.of("w3")))
        await networks.sweep(lambda workflow: workflow == "w1")
        assert [name for name, _ in rig.engine.nets.values()] == ["tinkbox-w1", "tinkbox-w3"]
        await rig.engine.remove(used.id)
        await networks.sweep(lambda workflow: workflow == "w1")
        assert [name for name, _ in rig.engine.nets.values()] == ["tinkbox-w1"]

    run(story)
