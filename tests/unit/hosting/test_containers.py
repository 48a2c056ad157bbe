from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.hosting.fake_engine import Program
from tests.unit.hosting.rig import Rig, service
from tests.unit.hosting.virtual_time import run
from tinkbox.hosting.containers import ServiceContainer
from tinkbox.hosting.folder import RunFolder
from tinkbox.hosting.networks import Networks
from tinkbox.model.services import HealthCheck, HostFolder, Resources, Share
from tinkbox.runtime import ContainerFailed
from tinkbox.runtime.container_image import RegistryAway
from tinkbox.wire.messages.hosting import WantedService


def container(rig: Rig, wanted: WantedService) -> ServiceContainer:
    folder = RunFolder(rig.place.folder, wanted.run)
    return ServiceContainer(rig.engine, rig.place, Networks(rig.engine, rig.place), wanted, folder)


def test_it_is_made_as_the_template_says_and_what_is_ours_wins(tmp_path: Path) -> None:
    async def story() -> None:
        named = {"isos": HostFolder(path="/srv/isos", read_only=True), "out": HostFolder(path="/srv/out")}
        rig = Rig(tmp_path, volumes=named)
        health = HealthCheck(test=("NONE",))
        wanted = service(
            command=("serve",),
            environment={"A": "1", "TINKBOX_SERVICE": "forged"},
            volumes=("isos:/data", "out:/out:ro", "out:/both"),
            labels=(
                ("a", "1"),
                ("a", "2"),
                ("tinkbox.run", "forged"),
                ("tinkbox.worker", "m1"),
                ("tinkbox.attempt", "x"),
            ),
            ports=(80,),
            health=health,
        )
        await container(rig, replace(wanted, hosts={"w1.example": "10.0.0.1"})).create()
        spec = rig.container.spec
        assert (spec.image, spec.name, spec.command) == ("appliance:80/web:v1", "tinkbox-r1", ("serve",))
        assert spec.environment == {
            "A": "1", "TINKBOX_WORKFLOW": "w1", "TINKBOX_SERVICE": "web", "TINKBOX_SERVER": "http://appliance",
        }  # fmt: skip
        assert spec.labels == {
            "a": "2", "tinkbox.host": "h1", "tinkbox.workflow": "w1", "tinkbox.service": "web", "tinkbox.run": "r1",
        }  # fmt: skip
        own = str(rig.place.folder / "r1" / "workflow")
        assert spec.mounts == {"/workflow": own, "/data": "/srv/isos", "/out": "/srv/out", "/both": "/srv/out"}
        assert spec.read_only == {"/data", "/out"}
        assert (spec.binds, spec.ports, spec.health, spec.hosts) == (
            (), (80,), health, {"w1.example": "10.0.0.1"},
        )  # fmt: skip
        assert (spec.privileged, spec.elevates, spec.log_bytes) == (False, False, 128 << 20)
        assert spec.network in rig.engine.nets

    run(story)


def test_it_is_told_where_to_ask_by_https_and_what_to_trust(tmp_path: Path) -> None:
    async def story() -> None:
        rig = Rig(tmp_path, https_server="https://appliance", authority="PEM")
        own = container(rig, service(environment={"TINKBOX_CA": "forged"}))
        own.make_folder()
        await own.create()
        spec = rig.container.spec
        assert (spec.environment["TINKBOX_HTTPS_SERVER"], spec.environment["TINKBOX_CA"]) == (
            "https://appliance",
            "/tinkbox/ca.crt",
        )
        file = Path(spec.mounts["/tinkbox/ca.crt"])
        assert (file.read_text(), file.stat().st_mode & 0o777) == ("PEM", 0o644)
        assert "/tinkbox/ca.crt" in spec.read_only

    run(story)


def test_where_actions_are_privileged_so_is_it(tmp_path: Path) -> None:
    async def story() -> None:
        rig = Rig(tmp_path, privileged=True, subnets=None, volumes=None)
        own = container(rig, service(volumes=("/dev:/dev", "named:/x")))
        assert own.volumes() == {}
        await own.create()
        spec = rig.container.spec
        assert (spec.privileged, spec.elevates, spec.network) == (True, True, "host")
        assert spec.binds == ("/dev:/dev", "named:/x")

    run(story)


def test_what_was_made_behind_an_answer_that_was_lost_is_found(tmp_path: Path) -> None:
    async def story() -> None:
        rig = Rig(tmp_path)
        own = container(rig, service())
        first = await own.create()
        assert (await own.create()).id == first.id
        assert (await own.found()) is not None
        rig.engine.made[first.id].spec = replace(rig.container.spec, labels={})  # somebody else's has our name
        with pytest.raises(ContainerFailed, match="in use"):
            await own.create()

    run(story)


def test_images_come_from_the_appliance_unless_they_name_a_registry(tmp_path: Path) -> None:
    async def story() -> None:
        rig = Rig(tmp_path)
        rig.engine.unreachable = {"r.example"}
        with pytest.raises(ContainerFailed) as refusal:
            await container(rig, service(image="r.example/web")).pull()
        assert refusal.value.reason == "RegistryUnreachable"
        rig.engine.unreachable = {"appliance:80"}
        for name in ("web:v1", "r.example/web"):
            with pytest.raises(RegistryAway):
                await container(rig, service(image=name)).pull()

    run(story)


def test_the_appliance_is_asked_first_and_then_the_host_in_the_name(tmp_path: Path) -> None:
    async def story() -> None:
        rig = Rig(tmp_path)
        ours, own = "appliance:80/r.example/web:v1", "r.example/web:v1"
        rig.engine.programs |= {ours: Program(), own: Program()}
        first = container(rig, service(image=own))
        await first.pull()
        assert first.image == ours
        del rig.engine.programs[ours]
        second = container(rig, service(image=own))
        await second.pull()
        assert second.image == own
        with pytest.raises(ContainerFailed) as refusal:
            await container(rig, replace(service(image=own), appliance_only=True)).pull()
        assert refusal.value.reason == "ImageNotFound"

    run(story)


SHARE = Share(usual=Resources(memory=512, cpus=1.0, pids=64), most=Resources(memory=1024, cpus=2.0, pids=128))


@pytest.mark.parametrize(
    ("asked", "got"),
    [
        (Resources(), SHARE.usual),
        (Resources(memory=1000, cpus=0.5), Resources(memory=1000, cpus=0.5, pids=64)),
        (Resources(memory=9999, cpus=9.0, pids=999), SHARE.most),  # of a workflow of before the limit was lowered
    ],
)
def test_on_the_appliance_it_has_its_share_and_few_rights(tmp_path: Path, asked: Resources, got: Resources) -> None:
    async def story() -> None:
        rig = Rig(tmp_path, share=SHARE)
        await container(rig, service(resources=asked)).create()
        assert rig.container.spec.resources == got
        assert "NET_BIND_SERVICE" in rig.container.spec.capabilities
        assert not {"NET_RAW", "MKNOD", "SYS_ADMIN", "SETPCAP"} & set(rig.container.spec.capabilities)

    run(story)


def test_on_a_machine_it_has_what_it_asks_for(tmp_path: Path) -> None:
    async def story() -> None:
        rig = Rig(tmp_path, share=None)
        await container(rig, service(resources=Resources(memory=9999))).create()
        assert (rig.container.spec.resources, rig.container.spec.capabilities) == (Resources(memory=9999), None)

    run(story)


@pytest.mark.parametrize("volume", ["/etc:/x", "/srv/isos:/x", "other:/x", "isos/..:/x", "../isos:/x", ":/x", "/data"])
def test_nothing_is_mounted_but_what_the_configuration_names(tmp_path: Path, volume: str) -> None:
    async def story() -> None:
        for named in ({"isos": HostFolder(path="/srv/isos")}, {}):
            with pytest.raises(ContainerFailed) as refusal:
                await container(Rig(tmp_path, volumes=named), service(volumes=(volume,))).create()
            assert refusal.value.reason == "UnknownVolume"

    run(story)


def test_its_ports_are_the_templates_or_else_the_images(tmp_path: Path) -> None:
    async def story() -> None:
        rig = Rig(tmp_path)
        urls = ("http://w1.example/files",)
        assert container(rig, service(ports=(9000, 80), urls=urls)).ports((8080,)) == (9000, 80)
        assert container(rig, service(urls=urls)).ports((8080, 9090)) == (8080, 9090)
        assert container(rig, service()).ports(()) == ()
        with pytest.raises(ContainerFailed) as refusal:
            container(rig, service(urls=urls)).ports(())
        assert refusal.value.reason == "NoPort"
        name = "traefik.http.{}"
        labels = (
            (name.format("routers.a.rule"), "Path(`/a`)"),
            (name.format("services.a.loadbalancer.server.port"), "99"),
        )
        assert container(rig, service(labels=labels)).ports(()) == ()

    run(story)


def test_a_folder_that_cannot_be_made_fails_it(tmp_path: Path) -> None:
    async def story() -> None:
        (tmp_path / "services").write_text("in the way")
        with pytest.raises(ContainerFailed) as refusal:
            container(Rig(tmp_path), service()).make_folder()
        assert refusal.value.reason == "OwnFilesFailed"

    run(story)
