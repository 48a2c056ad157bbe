"""A network with an appliance of its own and machines to plug in, for tests; what goes wrong is told with consoles and log.

The executable, the OSIE and the images are those that `make test` has built.
"""

import importlib.util
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from ipaddress import IPv4Interface
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, TypeVar
from uuid import uuid4

from examples.demo.appliance import Appliance, ApplianceFailed
from examples.lab.firmware import Firmware
from examples.lab.machine import Machine
from examples.lab.network import ADDRESS, Network
from examples.lab.processes import signals_unwind
from tests.integration.cli.serving import run_here
from tests.integration.docker_engine import DockerEngine, docker_engine_in
from tests.machine.hosts import Host
from tinkbox.model.workflow import State
from tinkbox.wire.cpio import archive
from tinkbox.wire.messages.status import MachineLine, WorkflowLine

ROOT = Path(__file__).parents[2]
# For one step of a machine's way, such as a boot: generous, for emulated processors are slow and shared.
PATIENCE = 600.0
LOOK_EVERY = 0.2
GATE_PORT = 8080
NEIGHBOUR = 3
T = TypeVar("T")

open_labs: "list[Lab]" = []


def built(path: str) -> Path:
    """What `make test` builds before it starts the tests, by its path in the project."""
    there = ROOT / path
    assert there.exists(), f"{path} is missing: `make test` builds it before it runs the tests"
    return there


def until(done: Callable[[], T], what: str, timeout: float = PATIENCE, every: float = LOOK_EVERY) -> T:
    """Look until there is something to see, and return it; fails after `timeout` seconds, or when an emulator died.

    `every` is the time between two looks.
    """
    deadline = time.monotonic() + timeout
    while not (seen := done()):
        for lab in open_labs:
            lab.check()
        assert time.monotonic() < deadline, f"waited {timeout:.0f} s for {what}"
        time.sleep(every)
    return seen


class KillableAppliance(Appliance):
    """The packed appliance, which can be killed and started again on the same data.

    Its operator's commands run in this process, for the packed program takes half a second to start; `typed` starts it.
    """

    def __init__(self, network: Network, work: Path, osie: Path, configuration: str, data: Path | None = None) -> None:
        self._network = network
        self._configuration = work / "tinkbox.yaml"
        # What the executable unpacks stays behind when it is killed: in a folder that goes with the lab.
        executable = ["env", f"TMPDIR={work}", str(built("dist/tinkbox"))]
        super().__init__(network, executable, work, osie, configuration, data)

    def command(self, *words: str | Path) -> str:
        """What a command of the operator prints."""
        ended = run_here("--data", str(self.data), *map(str, words))
        if ended.status:
            raise ApplianceFailed(f"tinkbox {' '.join(map(str, words))}: {(ended.err or ended.out).strip()}")
        return ended.out

    def typed(self, *words: str | Path) -> str:
        """The same by the packed program, as a person starts it."""
        return super().command(*words)

    def kill(self) -> None:
        """SIGKILL to all its processes; returns when they are gone."""
        with ExitStack() as stack:
            ends = []
            for pid in _group(self._process.pid):
                with suppress(ProcessLookupError):
                    ends.append(stack.enter_context(os.fdopen(os.pidfd_open(pid))))
            os.killpg(self._process.pid, signal.SIGKILL)
            for end in ends:
                assert select.select([end], [], [], 30)[0], "the appliance survived SIGKILL"
        self._process.wait()

    def hardware(self, key: str) -> dict[str, Any]:
        """What it knows of a machine.  It costs next to nothing to look again and again, unlike with a command."""
        return dict(json.loads(self._get(f"/v1/hardware/{key}")))

    def conditions(self) -> list[dict[str, Any]]:
        """Everything that its doctor's rounds say is wrong now, with itself, machines and workflows."""
        return list(json.loads(self._get("/healthz?verbose"))["conditions"])

    def wrong_with(self, number: int) -> list[str]:
        """What its doctor's rounds say is wrong with machine `number` now, but for images that a test never loaded."""
        return [
            f"{each['rule']}: {each['cause']}"
            for each in self.conditions()
            if each["machine"] == mac(number) and each["rule"] != "ImageMissing"
        ]

    def discovered(self) -> list[dict[str, Any]]:
        """The machines that nobody knows."""
        return list(json.loads(self._get("/v1/discovered")))

    def start_again(self) -> None:
        """Start it on the data it left behind; returns when it answers."""
        command = [*self._executable, "serve", "--config", str(self._configuration), "--data", str(self.data)]
        with self.log.open("ab") as log:
            self._process = self._network.start(command, stdout=log)
        until(self.ready, "the appliance to answer")


def _group(leader: int) -> list[int]:
    """The processes of a process group."""
    members = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(stat.read_text().rpartition(")")[2].split()[2]) == leader:
                members.append(int(stat.parent.name))
    return members


class Gate:
    """A web server at which actions knock: each knock is on record, and an action can wait for a gate to open."""

    def __init__(self, network: Network, work: Path) -> None:
        self._folder = work / "gate"
        self._folder.mkdir()
        self._log = work / "gate.log"
        self.url = f"http://{network.address}:{GATE_PORT}"
        place = ["--bind", str(network.address), "--directory", str(self._folder)]
        with self._log.open("wb") as log:
            network.start([sys.executable, "-u", "-m", "http.server", str(GATE_PORT), *place], stdout=log)
        until(lambda: "Serving" in self._log.read_text(), "the gate")

    def open(self, name: str) -> None:
        (self._folder / f"go-{name}").touch()

    def knocks(self, what: str, name: str) -> int:
        return self._log.read_text(errors="replace").count(f'"GET /{what}-{name} ')

    def wait_for(self, what: str, name: str) -> None:
        until(lambda: self.knocks(what, name), f"{name} to say that it {what}")


class Lab:
    """`network`, `appliance`, `gate`; machines are plugged in with `machine` and leave with the lab.

    `configuration` is what the appliance is told beyond its network, `data` what an earlier one left behind.
    """

    def __init__(
        self, network: Network, work: Path, osie: Path, plugged: ExitStack, configuration: str, data: Path | None
    ) -> None:
        self.network = network
        self.work = work
        self._engine: DockerEngine | None = None
        self._plugged = plugged
        self.machines: list[Machine] = []
        self.gate = Gate(network, work)
        self.appliance = KillableAppliance(network, work, osie, configuration, data)

    def machine(self, number: int, firmware: Firmware = "bios", **more: Any) -> Machine:
        """Plug in machine `number`, off."""
        made = Machine(self.network, self.work / f"machine{number}", mac=mac(number), firmware=firmware, **more)
        self.machines.append(self._plugged.enter_context(made))
        return made

    def push(self, number: int, **changes: Any) -> None:
        """Tell the appliance about machine `number`, for the first time or again."""
        document = self.work / "hardware.json"
        document.write_text(json.dumps(hardware(number, **changes)))
        self.appliance.command("hardware", "push", "--file", document)

    def load(self, image: Path) -> None:
        self.appliance.command("image", "load", image)

    @property
    def engine(self) -> DockerEngine:
        """The engine on which the appliance hosts services."""
        assert self._engine is not None, "this lab hosts no services"
        return self._engine

    def host(self, engine: DockerEngine) -> None:
        """Services run on this engine."""
        self._engine = engine

    def create(self, template: Path, devices: dict[str, str]) -> str:
        """Create a workflow of a template's text; returns its id."""
        made = self.appliance.command("template", "create", "-n", f"{template.stem}-{uuid4()}", "--file", template)
        return self.appliance.command("workflow", "create", "-t", made.split()[-1], "-r", json.dumps(devices)).split()[
            -1
        ]

    def workflow(
        self,
        number: int,
        *actions: dict[str, Any],
        breakpoints: Sequence[str] = (),
        services: Sequence[dict[str, Any]] = (),
    ) -> str:
        """Create a workflow of these actions for machine `number`; returns its id."""
        return self.tasks((number, actions), breakpoints=breakpoints, services=services)

    def tasks(
        self,
        *tasks: tuple[int, Sequence[dict[str, Any]]],
        breakpoints: Sequence[str] = (),
        services: Sequence[dict[str, Any]] = (),
    ) -> str:
        """Create a workflow of tasks, each for the machine of its number; returns its id."""
        numbers = sorted({number for number, _ in tasks})
        document = [
            {"name": f"task-{place}", "worker": f"{{{{.device_{number}}}}}", "actions": actions}
            for place, (number, actions) in enumerate(tasks, start=1)
        ]
        name = f"on-{'-and-'.join(map(hostname, numbers))}"
        text = self.work / "template.yaml"
        whole: dict[str, Any] = {"version": "0.1", "name": name, "global_timeout": 1800, "tasks": document}
        if services:
            whole["services"] = list(services)
        text.write_text(json.dumps(whole))
        template = self.appliance.command("template", "create", "-n", f"{name}-{uuid4()}", "--file", text).split()[-1]
        devices = json.dumps({f"device_{number}": mac(number) for number in numbers})
        armed = [word for each in breakpoints for word in ("--breakpoint", each)]
        return self.appliance.command("workflow", "create", "-t", template, "-r", devices, *armed).split()[-1]

    def seen(self, number: int) -> MachineLine:
        """Machine `number` in the appliance's words."""
        return next(each for each in self.appliance.snapshot().machines if each.mac == mac(number))

    def state(self, workflow: str) -> WorkflowLine:
        return next(each for each in self.appliance.snapshot().workflows if each.id == workflow)

    def ended(self, workflow: str) -> WorkflowLine:
        """The workflow once it is over."""

        def look() -> WorkflowLine | None:
            line = self.state(workflow)
            return line if line.ended_at else None

        return until(look, f"the end of workflow {workflow}")

    def happened(self, workflow: str) -> list[tuple[str, str | None]]:
        """The events of a workflow since it was created: the kind of each, and the action's name."""
        events = self.appliance.events(workflow)
        return [(each["kind"], each.get("action")) for each in events if each["kind"] != "workflow.created"]

    def actions(self, workflow: str) -> dict[str, State]:
        """The states of a workflow's actions by their names."""
        return {each["name"]: State(each["state"]) for each in self.json("workflow", "get", workflow)["actions"]}

    def json(self, *words: str) -> Any:
        """What a command of the operator prints with `--format json`."""
        return json.loads(self.appliance.command(*words, "--format", "json"))

    def stages(self, number: int) -> list[str]:
        """The machine's boot timeline, oldest first."""
        return [entry["stage"] for entry in self.appliance.timeline(mac(number))]

    def route(self) -> None:
        """Let a router announce itself over IPv6: iPXE's boot ROM waits a quarter of a minute for one when there is none."""
        self.network.run(["ip", "-6", "address", "add", "fd00:7b::1/64", "dev", self.network.interface, "nodad"])
        leases = self.work / "router.leases"
        command = ["dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--port=0", "--pid-file=", "--user=root"]
        where = [f"--interface={self.network.interface}", "--bind-interfaces", f"--dhcp-leasefile={leases}"]
        announce = ["--enable-ra", f"--dhcp-range=::,constructor:{self.network.interface},ra-only"]
        with (self.work / "router.log").open("wb") as log:
            self.network.start([*command, *where, *announce, "--log-facility=-"], stdout=log)

    def check(self) -> None:
        """Raises EmulatorDied when one of its machines ended as no machine does."""
        for machine in self.machines:
            machine.check()

    def account(self) -> str:
        """The last lines of the appliance's log and of every console."""
        parts = [f"the appliance:\n{self.appliance.last_lines()}"]
        for machine in self.machines:
            with suppress(AssertionError):  # never powered on
                parts.append(f"the console of {machine.mac}:\n{machine.console.tail()}")
        return "\n".join(parts)


@contextmanager
def laboratory(
    osie: Path | None = None,
    *,
    hosting: bool = False,
    domain: str = "",
    configured: str = "",
    data: Path | None = None,
    address: IPv4Interface = ADDRESS,
) -> Iterator[Lab]:
    """A lab that serves this OSIE, or the built one; everything goes with it.

    One that is `hosting` has an engine for services, which machines reach below `domain` or the default.  `configured`
    is what else stands in its configuration, `data` what an earlier appliance left behind, `address` the appliance's own.
    """
    with ExitStack() as stack:
        stack.enter_context(signals_unwind())
        work = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tinkbox-lab-")))
        network = stack.enter_context(Network(address))
        configuration, engine = configured, None
        if hosting:
            engine = stack.enter_context(docker_engine_in(network=network.path))
            configuration += f"docker: {engine.url}\n"
        if domain:
            configuration += f"services: {{domain: {domain}}}\n"
        lab = Lab(network, work, osie or built("build/osie/x86_64").parent, stack, configuration, data)
        if engine is not None:
            lab.host(engine)
        open_labs.append(lab)
        stack.callback(open_labs.remove, lab)
        try:
            until(lab.appliance.ready, "the appliance to answer")
            yield lab
        except BaseException as error:
            error.add_note(lab.account())
            raise


def tagged(network: Network, number: int, address: str) -> str:
    """Give the network's host an interface on the tagged network `number`, by its name; not every kernel has VLANs."""
    name = f"{network.interface}.{number}"
    words = [sys.executable, "-m", "tests.integration.boot.tagging", network.interface, str(number)]
    process = network.start(["env", f"--chdir={ROOT}", *words], stdout=subprocess.PIPE)
    assert process.stdout is not None
    with process.stdout as said:
        assert said.readline() == b"ready\n"
    (parent,) = json.loads(network.run(["ip", "-j", "link", "show", network.interface]))
    network.run(["ip", "link", "set", name, "address", parent["address"], "up"])
    network.run(["ip", "address", "add", address, "dev", name])
    return name


def shown(machine: Machine, text: str) -> int:
    """How many lines with this text the console has shown since the machine was powered on."""
    return sum(text in line for line in machine.console.lines)


def mac(number: int) -> str:
    return f"08:00:27:00:00:{number:02x}"


def address(number: int) -> str:
    return f"172.30.0.{20 + number}"


def hostname(number: int) -> str:
    return f"server{number:03}"


def hardware(
    number: int,
    *,
    arch: str = "x86_64",
    allow_pxe: bool = True,
    ip: dict[str, str] | Literal["own"] | None = "own",
    second: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """The hardware document of machine `number`: the demo's, with another identity.

    Its address is `address(number)`, or what `ip` says; None: none is reserved.  `second` is the key `dhcp` of its second
    network card.
    """
    document: dict[str, Any] = json.loads((ROOT / "examples" / "demo" / "hardware.json").read_text())
    document["id"] = f"0eba0bf8-3772-4b4a-ab9f-{number:012}"
    (interface,) = document["network"]["interfaces"]
    interface["dhcp"] |= {"mac": mac(number), "hostname": hostname(number), "arch": arch}
    if ip == "own":
        interface["dhcp"]["ip"]["address"] = address(number)
    else:
        interface["dhcp"]["ip"] = ip or {}
    interface["netboot"]["allow_pxe"] = allow_pxe
    if second is not None:
        document["network"]["interfaces"].append({"dhcp": second})
    return document


def shell(name: str, script: str, **more: Any) -> dict[str, Any]:
    """An action that runs a shell script in the image of `shell_image`."""
    return {"name": name, "image": "shell:v1", "timeout": 900, "command": [script], **more}


def installed_disk(path: Path) -> Path:
    """A disk with the system that the demo installs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    command = ["zstd", "--decompress", "--quiet", "--sparse", built("build/demo/disk.img.zst"), "-o", path]
    subprocess.run(command, check=True, timeout=PATIENCE)
    return path


def osie_without_worker(folder: Path) -> Path:
    """The built OSIE with another ramdisk: its first process says so, and resets the machine."""
    init = """#!/bin/busybox sh
        /bin/busybox mkdir -p /dev
        /bin/busybox mount -t devtmpfs devtmpfs /dev
        echo "this OSIE starts no worker" > /dev/console
        /bin/busybox reboot -f
    """
    shutil.copytree(built("build/osie/x86_64"), folder / "x86_64", ignore=shutil.ignore_patterns("initramfs"))
    files = {"init": init.encode(), "bin/busybox": Path("/bin/busybox").read_bytes()}
    (folder / "x86_64" / "initramfs").write_bytes(archive(files, mode=0o755))
    return folder


def hold(name: str, gate: Gate, first: str = "", then: str = "true", **more: Any) -> dict[str, Any]:
    """An action that says that it began, does `first`, waits for its gate to open, says that it ended, and does `then`."""
    script = f"""
        knock() {{ wget -q -O /dev/null "{gate.url}/$1-{name}" 2>/dev/null; }}
        echo "{name} begins as $TINKBOX_ATTEMPT"
        knock began
        {first}
        until knock go; do sleep 0.5; done
        echo "{name} ends"
        knock ended
        {then}
    """
    return shell(name, script, **more)


def shell_image(folder: Path) -> Path:
    """An archive as `docker save` writes it of an image that holds busybox and runs its argument as a shell script."""
    return program_image(folder, "shell", "v1")


def program_image(
    folder: Path,
    name: str,
    tag: str,
    *script: str,
    busybox: Path = Path("/bin/busybox"),
    architecture: str = "amd64",
) -> Path:
    """The same of an image that runs this shell script, or its argument when there is none; `busybox` is what it holds."""
    images = _images()
    root = folder / "root"
    (root / "bin").mkdir(parents=True)
    shutil.copy(busybox, root / "bin" / "busybox")
    known = subprocess.run(["/bin/busybox", "--list"], check=True, stdout=subprocess.PIPE, text=True).stdout
    for command in set(known.split()) - {"busybox"}:
        (root / "bin" / command).symlink_to("busybox")
    entrypoint = ("/bin/busybox", "sh", "-c", *script)
    image = images.Declaration(
        name=name, tag=tag, packages=(), files=(), entrypoint=entrypoint, architecture=architecture
    )
    saved = folder / f"{name.rpartition('/')[2]}.tar"
    images.save([images.layer(root, images.everything(root))], image, saved)
    return saved


def _images() -> ModuleType:
    """packaging/images.py, which an installed package of that name hides."""
    spec = importlib.util.spec_from_file_location("images", ROOT / "packaging" / "images.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault("images", module)
    spec.loader.exec_module(module)
    return module


@dataclass(frozen=True)
class Answer:
    status: int
    body: bytes


class Neighbour(Host):
    """Another host on the machines' network, with an address of its own; it asks the appliance what machines ask."""

    def __init__(self, network: Network, address: str) -> None:
        self._server = f"http://{network.address}"
        super().__init__(network, [(network.interface, address)])

    def ask(
        self, path: str, *, method: str = "GET", token: str = "", body: str | None = None, host: str = ""
    ) -> Answer:
        """One request to the node door, with this bearer token, under this name instead of its address."""
        options = ["-X", method, *(["-H", f"Authorization: Bearer {token}"] if token else [])]
        options += ["--data-binary", body] if body is not None else []
        options += ["-H", f"Host: {host}"] if host else []
        told = self.run("curl", "-sS", "--max-time", "60", "-w", "%{http_code}", *options, self._server + path)
        return Answer(int(told[-3:]), told[:-3])


@contextmanager
def neighbour(lab: Lab, number: int) -> Iterator[Neighbour]:
    """A host with the address and the MAC of machine `number`."""
    with Neighbour(lab.network, address(number)) as made:
        made.run("ip", "link", "set", "eth0", "address", mac(number))
        yield made
