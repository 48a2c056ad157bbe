"""Lists and the terminal view of a large appliance: 10,000 machines and 50,000 finished workflows.

A list with a filter, from the start of the program to its end, stands beside the program's own start (`tinkbox version`),
which is the least that any command can take.  A key of `tinkbox status` and the appliance's memory stand beside those of
an appliance with one machine and no workflow.
"""

import asyncio
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

from tests.bench.figures import Comparison
from tests.bench.lab import TINKBOX, folder, need, on_loopback
from tests.bench.start import milliseconds
from tests.bench.typist import Typist
from tests.bench.usage import peak_memory
from tinkbox.model.actions.action import Action
from tinkbox.model.documents.hardware import hardware_from_document
from tinkbox.model.labels import LabelKind
from tinkbox.model.workflow import ActionStatus, Outcome, PlannedAction, State, Workflow
from tinkbox.store.database import Store, Tables
from tinkbox.store.templates import Template
from tinkbox.store.workflows import Attempt

TOOLS = {"ip": "iproute2"}
MACHINES = 10_000
WORKFLOWS = 50_000
AT_ONCE = 500
RUNS = 10
ROUNDS = 3
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
TEMPLATE = str(UUID(int=7))
TEXT = "# what stands in a template\n" * 40
FILTERED = (
    ("workflow", "list", "--state", "FAILED"),
    ("workflow", "list", "--machine", "node47"),
    ("workflow", "list", "--template", "ubuntu"),
    ("workflow", "list", "--label", "batch=b7"),
    ("workflow", "list", "--since", "2h"),
    ("hardware", "list", "--label", "rack=r7"),
    ("hardware", "list", "--state", "parked"),
    ("hardware", "list", "--state", "failed"),
)
KEYS = (b"j", b"k", b"G", b"g", b"S", b"/", b"7", b"\x15", b"\r", b"?", b"?")
SMALL = "an appliance with one machine"


def compare(
    program: Sequence[str] = (str(TINKBOX),), machines: int = MACHINES, workflows: int = WORKFLOWS
) -> Iterator[Comparison]:
    need(TOOLS)
    with ExitStack() as stack:
        large, small = (
            stack.enter_context(
                on_loopback(stack.enter_context(folder()), program, lambda data, size=size: fill(data, *size))
            )
            for size in ((machines, workflows), (1, 0))
        )
        at_large, at_small = ((*program, "--data", str(each.data)) for _, each in (large, small))
        for words in FILTERED:
            figure = Comparison(what=f"tinkbox {' '.join(words)}", unit="ms", peer="tinkbox version", better="less")
            for _ in range(RUNS):
                figure.add(milliseconds(*at_large, *words), milliseconds(*program, "version"))
            yield figure
        keys = Comparison(what="tinkbox status, from a key to its picture", unit="ms", peer=SMALL, better="less")
        for _ in range(ROUNDS):
            keys.add(picture(at_large), picture(at_small))
        yield keys
        memory = Comparison(what="tinkbox serve, the most memory after all this", unit="MB", peer=SMALL, better="less")
        memory.add(peak_memory(large[0]), peak_memory(small[0]))
        yield memory


def picture(command: Sequence[str]) -> float:
    """Milliseconds from a key of the terminal view to what it changes there."""
    with Typist((*command, "status"), os.environ, columns=80, ready=b"Enter open", leave=b"\x03") as person:
        return person.pictures(KEYS)


def fill(data: Path, machines: int, workflows: int) -> None:
    """Put them into the store of an appliance that does not run."""
    data.mkdir(mode=0o700)
    asyncio.run(_fill(data / "tinkbox.sqlite", machines, workflows))


async def _fill(path: Path, machines: int, workflows: int) -> None:
    store = await Store.open(path)
    try:
        template = Template(id=TEMPLATE, name="ubuntu", data=TEXT, created_at=BEGAN, updated_at=BEGAN)
        await store.write(lambda tables: tables.templates.put(template))
        for begin in range(0, machines, AT_ONCE):
            await store.write(
                lambda tables, begin=begin: _machines(tables, range(begin, min(begin + AT_ONCE, machines)))
            )
        for begin in range(0, workflows, AT_ONCE):
            numbers = range(begin, min(begin + AT_ONCE, workflows))
            await store.write(lambda tables, numbers=numbers: _workflows(tables, numbers, machines, workflows))
    finally:
        await store.close()


def _machines(tables: Tables, numbers: range) -> None:
    for number in numbers:
        octets = f"{number:06x}"
        dhcp = {
            "mac": f"02:00:00:{octets[:2]}:{octets[2:4]}:{octets[4:]}",
            "hostname": f"node{number}",
            "ip": {"address": f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}", "netmask": "255.0.0.0"},
        }
        document = {"id": str(UUID(int=number + 1)), "network": {"interfaces": [{"dhcp": dhcp}]}}
        tables.hardware.upsert(hardware_from_document(document), BEGAN)
        tables.labels.replace(
            LabelKind.MACHINE, str(document["id"]), {"rack": f"r{number % 250}", "row": f"{number % 7}"}
        )


def _workflows(tables: Tables, numbers: range, machines: int, workflows: int) -> None:
    for number in numbers:
        state = State.FAILED if number % 500 == 0 else State.SUCCESS
        worker, identity = str(UUID(int=number % machines + 1)), str(UUID(int=(7 << 100) + number))
        at = datetime.now(UTC) - timedelta(minutes=workflows - number)
        actions = tuple(
            ActionStatus(
                action=PlannedAction(
                    index=index, task="os", worker=worker, address="m",
                    spec=Action(name=name, image=f"actions/{name}", timeout=600),
                ),
                state=state if index == 2 else State.SUCCESS,
            )
            for index, name in enumerate(("image", "configuration", "reboot"))
        )  # fmt: skip
        tables.workflows.insert(
            Workflow(
                id=identity, name="ubuntu", template_id=TEMPLATE, template_name="ubuntu", devices={"device_1": "m"}, text=TEXT, state=state,
                actions=actions, created_at=at, updated_at=at,
            )
        )  # fmt: skip
        tables.labels.replace(LabelKind.WORKFLOW, identity, {"batch": f"b{number // 100}"})
        for index in range(3):
            token = f"{identity}-{index}"
            ended = state if index == 2 else State.SUCCESS
            tables.workflows.begin_attempt(
                Attempt(
                    token=token, workflow_id=identity, position=index, worker=worker, boot_id="b", state=State.RUNNING,
                    started_at=at,
                )
            )  # fmt: skip
            reason = ("Timeout", "it took too long") if ended is State.FAILED else ("", "")
            tables.workflows.end_attempt(token, Outcome(state=ended, reason=reason[0], message=reason[1]), at)
            tables.workflows.set_action_state(identity, index, ended)
