"""Tasks meet their machines, and services their hosts."""

import json
from dataclasses import fields, replace

import pytest

from tests.integration.engine.appliance import Appliance, mac
from tests.integration.engine.flows import LIMITED, REBOOT, RETRIES
from tinkbox.engine.documents.definitions import read_definition
from tinkbox.engine.templates.binding import Names, bind, bind_services
from tinkbox.model.errors import Invalid
from tinkbox.model.images.references import StandIns
from tinkbox.model.services import APPLIANCE, HostFolder, PlannedService, Resources
from tinkbox.model.workflow import PlannedAction, State

CHOICE = """\
version: "0.1"
name: choice
tasks:
  - name: prepare
    worker: "{{.a}}"
    actions:
      - {name: raid, image: x, if: "false"}
  - name: install
    worker: "{{.b}}"
    actions:
      - {name: write, image: x, if: "True"}
      - {name: verify, image: x, if: ""}
      - {name: report, image: x, if: "FALSE"}
"""


async def test_what_does_not_apply_is_skipped_from_the_beginning_and_needs_no_ticket(box: Appliance) -> None:
    first, second = await box.machine(1), await box.machine(2)
    key = await box.workflow(CHOICE, a=1, b=2)
    workflow = await box.workflows.get(key)
    assert [each.state for each in workflow.actions] == [State.SKIPPED, State.PENDING, State.PENDING, State.SKIPPED]
    assert workflow.workers() == [second]
    assert [(await box.machines.get(each)).ticket for each in (first, second)] == [False, True]
    (created,) = await box.workflows.events(key)
    assert created.data["skipped"] == [0, 3]
    assert created.data["workers"] == [second]
    assert await box.finish(second) == ["write", "verify"]
    assert (await box.workflows.get(key)).state is State.SUCCESS


async def test_where_nothing_applies_there_is_no_workflow(box: Appliance) -> None:
    await box.machine(1)
    nothing = CHOICE.replace('"True"', '"false"').replace('if: ""', 'if: "false"')
    with pytest.raises(Invalid, match="there is nothing to do"):
        await box.workflow(nothing, a=1, b=1)
    assert await box.workflows.all() == []


async def test_every_unknown_machine_is_named(box: Appliance) -> None:
    await box.machine(1)
    with pytest.raises(Invalid) as refusal:
        await box.workflow(CHOICE, a=7, b=8)
    assert [each.key for each in refusal.value.problems] == ["tasks[0].worker", "tasks[1].worker"]


async def test_what_the_template_says_of_its_helper_is_kept(box: Appliance) -> None:
    await box.machine(1)
    text = CHOICE.replace("name: write,", "name: write, helper: false,").replace("{{.b}}", "{{.a}}")
    actions = (await box.workflows.get(await box.workflow(text, a=1))).actions
    assert [each.action.spec.helper for each in actions] == [True, False, True, True]


async def test_what_the_template_says_of_retries_reboots_and_time_is_kept(box: Appliance) -> None:
    await box.machine(1)
    flaky = (await box.workflows.get(await box.workflow(RETRIES))).actions[0].action
    assert (flaky.spec.retries, flaky.spec.reboot) == (2, False)
    away = (await box.workflows.get(await box.workflow(REBOOT))).actions[1].action
    assert (away.spec.retries, away.spec.reboot) == (0, True)
    assert (await box.workflows.get(await box.workflow(LIMITED))).global_timeout == 100


WORDED = f"""\
version: "0.1"
name: worded
tasks:
  - name: install
    worker: {mac(1)}
    volumes: [/dev:/dev]
    environment: {{A: task, B: task}}
    actions:
      - name: write
        image: image2disk:v1
        timeout: 600
        command: [sh, -c, "true"]
        on-timeout: [echo, late]
        on-failure: [echo, broken]
        volumes: [/lib:/lib]
        environment: {{B: action}}
        pid: host
        namespaces: {{network: none}}
        retries: 2
        reboot: true
        until: phone-home
        helper: false
        disk: smallest
        wipes: [/dev/sda]
        secrets: [{{name: password, env: PASSWORD}}]
"""


async def test_all_that_a_template_says_of_an_action_is_kept(box: Appliance) -> None:
    worker = await box.machine(1)
    await box.secrets.set("password", b"correct horse", "me")
    (stored,) = (await box.workflows.get(await box.workflow(WORDED))).actions
    (task,) = read_definition(WORDED).tasks
    (worded,) = task.actions
    assert all(getattr(worded, each.name) != each.default for each in fields(worded)), "a word is missing"
    merged = replace(worded, volumes=("/dev:/dev", "/lib:/lib"), environment={"A": "task", "B": "action"})
    assert stored.action == PlannedAction(index=0, task="install", worker=worker, address=mac(1), spec=merged)


NAMES = Names(
    name="provisioner",
    address="172.30.0.1",
    domain="workflows.tinkbox.internal",
    volumes={"isos": HostFolder(path="/srv/isos", read_only=True), "out": HostFolder(path="/srv/out")},
)
SERVED = f"""\
version: "0.1"
name: served
services:
  - name: files
    worker: provisioner
    image: files:v1
    SERVICE
tasks:
  - name: install
    worker: {mac(1)}
    actions: [{{name: write, image: x}}]
  - name: verify
    worker: {mac(2)}
    actions: [{{name: raid, image: x, if: false}}]
"""


HUB = StandIns(images={"hub.lab/actions": "tools", "files:v1": "files:v2"})


async def test_a_workflow_runs_the_images_that_stand_in_for_those_of_its_template(box: Appliance) -> None:
    worker = await box.machine(1)
    text = WORDED.replace("image2disk:v1", "hub.lab/actions/image2disk:v1")
    definition = read_definition(text)
    (action,) = bind(lambda _: worker, definition, replace(NAMES, images=HUB))
    assert action.action.spec.image == "tools/image2disk:v1"
    (service,) = await served(box, names=replace(NAMES, images=HUB))
    assert service.spec.image == "files:v2"


async def served(
    box: Appliance, service: str = "", *more: str, worker: str = "provisioner", names: Names = NAMES
) -> tuple[PlannedService, ...]:
    """Bind the services of workflow w1: one at `worker`, and `more` at the appliance."""
    others = [
        f"  - {{name: more{number}, worker: provisioner, image: x, {each}}}\n" for number, each in enumerate(more)
    ]
    text = SERVED.replace("worker: provisioner", f"worker: {worker}")
    text = text.replace("SERVICE\n", f"{service}\n{''.join(others)}")
    return await box.store.read(
        lambda tables: bind_services(tables.hardware.by_address, read_definition(text), names, "w1")
    )


async def problems_of(
    box: Appliance, service: str, *more: str, worker: str = "provisioner", names: Names = NAMES
) -> list[str]:
    with pytest.raises(Invalid, match="cannot be bound to the hosts of its services") as refusal:
        await served(box, service, *more, worker=worker, names=names)
    return [str(problem) for problem in refusal.value.problems]


async def test_a_service_stands_on_the_appliance_by_its_name_and_its_address(box: Appliance) -> None:
    hosts = [(await served(box, worker=worker))[0].host for worker in ("provisioner", "172.30.0.1")]
    assert hosts == [APPLIANCE, APPLIANCE]
    await box.machine(1)
    assert (await served(box, worker="172.30.0.11", names=replace(NAMES, address="172.30.0.11")))[0].host == APPLIANCE
    other = replace(NAMES, name="boxing", address="10.0.0.1")
    assert (await served(box, worker="boxing", names=other))[0].host == APPLIANCE
    (found,) = await problems_of(box, "", names=other)
    assert found == (
        "services[0].worker: provisioner is neither the appliance, which is called boxing or 10.0.0.1, nor known hardware: "
        "push its hardware document first"
    )


async def test_a_service_stands_on_any_known_machine(box: Appliance) -> None:
    first, third = await box.machine(1), await box.machine(3)
    for worker, host in ((str(mac(1)), first), ("172.30.0.13", third)):
        (service,) = await served(box, worker=worker)
        assert (service.host, service.spec.worker) == (host, worker)


async def test_what_the_template_says_of_its_services_is_kept(box: Appliance) -> None:
    said = """command: [serve]
    environment: {A: b}
    volumes: [isos:/files:ro]
    labels: [team=a, team=b]
    urls: [http://w1.workflows.tinkbox.internal/files]
    healthcheck: {test: check, retries: 2}
    restart: always
    ports: [8080]
    timeout: 90s"""
    first, second = await served(box, said, "timeout: 5")
    (service,) = read_definition(SERVED.replace("SERVICE", said)).services
    assert service.ports == (8080,)
    assert first == PlannedService(index=0, host=APPLIANCE, spec=service)
    assert (second.index, second.spec.name, second.spec.timeout) == (1, "more0", 5)


async def test_without_services_there_is_nothing_to_bind(box: Appliance) -> None:
    text = SERVED[: SERVED.index("services:")] + SERVED[SERVED.index("tasks:") :]
    assert (
        await box.store.read(
            lambda tables: bind_services(tables.hardware.by_address, read_definition(text), NAMES, "w1")
        )
        == ()
    )


@pytest.mark.parametrize("volume", ["out:/a", "out:/a:ro", "out://a/:rw", "isos:/a", "isos:/a:ro", "out:/srv/../a"])
async def test_a_service_on_the_appliance_mounts_volumes_that_the_configuration_names(
    box: Appliance, volume: str
) -> None:
    (service,) = await served(box, f"volumes: ['{volume}']")
    assert service.spec.volumes == (volume,)


@pytest.mark.parametrize(
    ("volume", "said"),
    [
        ("/etc:/etc", "volumes in its tinkbox.yaml names, one of isos, out, such as isos:/data"),
        ("/srv/out:/a", "on the appliance a volume is one that services.volumes"),
        ("/var/run/docker.sock:/a", "on the appliance a volume is one that services.volumes"),
        ("other:/a", "on the appliance a volume is one that services.volumes"),
        ("isos:/a:rw", "services.volumes has isos to be read only: leave :rw out"),
        ("out:/a:z", "expected :ro, :rw or nothing after the folder, not :z"),
        ("/a", "on the appliance a volume is one that services.volumes"),
    ],
)  # fmt: skip
async def test_a_service_on_the_appliance_mounts_nothing_else(box: Appliance, volume: str, said: str) -> None:
    (found,) = await problems_of(box, f"volumes: ['out:/b', '{volume}']")
    assert found.startswith("services[0].volumes: ")
    assert said in found


async def test_where_no_volume_is_named_a_service_on_the_appliance_mounts_nothing(box: Appliance) -> None:
    (found,) = await problems_of(box, "volumes: [out:/a]", names=replace(NAMES, volumes={}))
    assert "services.volumes in its tinkbox.yaml names, and none is named" in found


async def test_a_service_on_a_machine_mounts_what_its_actions_may(box: Appliance) -> None:
    await box.machine(1)
    machine = str(mac(1))
    (service,) = await served(box, "volumes: ['/dev:/dev:shared']", worker=machine)
    assert service.spec.volumes == ("/dev:/dev:shared",)
    (service,) = await served(box, "volumes: ['out:/a:nocopy', /b]", worker=machine)
    assert service.spec.volumes == ("out:/a:nocopy", "/b")
    (found,) = await problems_of(box, "volumes: ['o:/a']", worker=machine)
    assert "'o' is no absolute path, and no name of a volume, which has 2 to 255 characters" in found


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (
            "mem_limit: 2g",
            "services[0].mem_limit: 2GiB: a service on the appliance may have 1GiB; services.most_memory",
        ),
        ("cpus: 2.5", "services[0].cpus: 2.5: a service on the appliance may have 2; services.most_cpus"),
        ("pids_limit: 65", "services[0].pids_limit: 65: a service on the appliance may have 64; services.most_pids"),
    ],
)
async def test_a_service_asks_for_no_more_than_the_configuration_lets_it(box: Appliance, asked: str, said: str) -> None:
    names = replace(NAMES, most=Resources(memory=1 << 30, cpus=2.0, pids=64))
    (found,) = await problems_of(box, asked, names=names)
    assert found.startswith(said)
    await box.machine(1)
    (there,) = await served(box, asked, worker=str(mac(1)))
    assert there.spec.resources != Resources()


def labelled(*labels: str, urls: tuple[str, ...] = ()) -> str:
    return f"labels: {json.dumps(labels)}\n    urls: {json.dumps(urls)}"


OWN = "w1.workflows.tinkbox.internal"
RULE = "traefik.http.routers.r.rule="
ROUTE = RULE + "Path(`/boot`) || Path(`/auto.ipxe`)"


@pytest.mark.parametrize(
    "service",
    [
        labelled("tinkbox.boot.ipxe=/boot", ROUTE),
        labelled("boots.auto.ipxe", ROUTE),
        labelled("boots.auto.ipxe=/boot", ROUTE),
        labelled(f"boots.auto.ipxe=http://{OWN}/boot", ROUTE),
        labelled("boots.auto.ipxe=/boot", urls=(f"http://{OWN}/boot",)),
        labelled("tinkbox.boot.ipxe=/x", RULE + f"Host(`{OWN}`) && PathPrefix(`/`)"),
        labelled("tinkbox.boot.ipxe=/x", RULE + f"Host(`{OWN}`)", RULE + "Path(`/y`)", RULE + "Path(`/x`)"),
    ],
)
async def test_a_service_may_supply_the_boot_script_where_it_is_routed(box: Appliance, service: str) -> None:
    await box.machine(1)
    assert len(await served(box, service, "labels: [team=a]")) == 2
    assert await served(box, service, names=replace(NAMES, domain="Workflows.Tinkbox.Internal"))


@pytest.mark.parametrize(
    ("service", "said"),
    [
        (labelled("tinkbox.boot.ipxe=/other", ROUTE), f"no route of this service is for http://{OWN}/other"),
        (labelled("boots.auto.ipxe"), f"no route of this service is for http://{OWN}/auto.ipxe"),
        (
            labelled("boots.auto.ipxe", RULE + "Host(`w2.workflows.tinkbox.internal`)"),
            "no route of this service is for",
        ),
        (labelled("boots.auto.ipxe", RULE + "Method(`POST`) && PathPrefix(`/`)"), "no route of this service is for"),
        (
            labelled("boots.auto.ipxe=http://w2.workflows.tinkbox.internal/boot", ROUTE),
            f"the workflow's own name, which is {OWN}, not from w2.workflows.tinkbox.internal",
        ),
    ],
)
async def test_a_boot_script_that_no_machine_could_get_is_refused(box: Appliance, service: str, said: str) -> None:
    (found,) = await problems_of(box, service)
    assert found.startswith("services[0].labels: ")
    assert said in found


async def test_only_one_service_supplies_the_boot_script(box: Appliance) -> None:
    another = f"labels: {json.dumps(['boots.auto.ipxe', ROUTE])}"
    found = await problems_of(box, labelled("tinkbox.boot.ipxe=/boot", ROUTE), "labels: [a=b]", another)
    assert found == ["services[2].labels: service files supplies the boot script already: a workflow has one"]


async def test_no_machine_hosts_what_it_is_to_boot_by(box: Appliance) -> None:
    for number in (1, 2):
        await box.machine(number)
    (found,) = await problems_of(box, labelled("tinkbox.boot.ipxe=/boot", ROUTE), worker=str(mac(1)))
    assert found == (
        f"services[0].worker: {mac(1)} is to boot by the script of this service: have another machine host it"
    )
    # The second machine has nothing to do, because what it would do does not apply.
    assert await served(box, labelled("tinkbox.boot.ipxe=/boot", ROUTE), worker=str(mac(2)))
    assert await served(box, labelled(ROUTE), worker=str(mac(1)))


async def test_every_problem_of_every_service_is_told(box: Appliance) -> None:
    found = await problems_of(box, labelled("boots.auto.ipxe"), "volumes: [/a:/a, /b:/b]", worker="nobody")
    assert [each.split(":")[0] for each in found] == [
        "services[0].worker",
        "services[1].volumes",
        "services[1].volumes",
    ]
