"""Two machines exchange ephemeral data through one workflow, which goes from one to the other and back."""

import hashlib
import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.machine.lab import Lab, shell
from tests.machine.waiting import ONE, TWO, laboratory_with
from tinkbox.model.workflow import State

pytestmark = pytest.mark.machine
FIRST, SECOND = ONE, TWO
# The example of Tinkerbell's documents: the first worker writes three fields, the other adds to them.
WRITTEN = {
    "instance_id": "123e4567-e89b-12d3-a456-426655440000",
    "mac_addr": "F5:C9:E2:99:BD:9B",
    "operating_system": "ubuntu_18_04",
}
ADDED = {"ip_addresses": [{"address_family": 4, "address": "172.27.0.23", "cidr": 31, "private": True}]}
BLOB_KIB = 3 * 1024
ODD_NAME, ODD = "odd name", b"a\0b\xff\x1b[2J"
_ODD = r"a\000b\377\033[2J"  # the same for printf
WRITE = f"""
    set -e
    echo '{json.dumps(WRITTEN)}' > /workflow/data
    mkdir -p /workflow/keys/empty
    dd if=/dev/urandom of=/workflow/keys/blob bs=1024 count=3072 2>/dev/null
    printf '{_ODD}' > "/workflow/{ODD_NAME}"
    chmod 640 "/workflow/{ODD_NAME}"
    ln -s keys/blob /workflow/link
    echo "blob: $(md5sum < /workflow/link)"
"""
# Both names are there, and neither is listed.
LOOK = '[ -z "$(ls -A /workflow)" ] && touch "/workflow/$TINKBOX_WORKFLOW/a" && [ -e /workflow/a ] && rm -r /workflow/*'
ANSWER = f"""
    set -e
    grep -q ubuntu_18_04 /workflow/data
    cmp /workflow/data "/workflow/$TINKBOX_WORKFLOW/data"
    [ -d /workflow/keys/empty ]
    [ "$(stat -c %a "/workflow/{ODD_NAME}")" = 640 ]
    echo "blob: $(md5sum < /workflow/link)"
    echo '{json.dumps(WRITTEN | ADDED)}' > /workflow/data
    dd if=/dev/urandom of=/workflow/reply bs=1024 count=16 2>/dev/null
    rm "/workflow/{ODD_NAME}"
    echo "reply: $(md5sum < /workflow/reply)"
"""
READ = f"""
    set -e
    grep -q 172.27.0.23 /workflow/data
    [ ! -e "/workflow/{ODD_NAME}" ]
    echo "blob: $(md5sum < /workflow/keys/blob)"
    echo "reply: $(md5sum < /workflow/reply)"
"""


@dataclass(frozen=True)
class Exchange:
    """`other` is the workflow that came after it for the first machine."""

    lab: Lab
    workflow: str
    other: str


@pytest.fixture(scope="module")
def exchange(waiting: Path) -> Iterator[Exchange]:
    with laboratory_with(waiting, [FIRST, SECOND]) as lab:
        workflow = lab.tasks(
            (FIRST, [shell("write", WRITE)]),
            (SECOND, [shell("look", "grep -q ubuntu /workflow/data"), shell("answer", ANSWER)]),
            (FIRST, [shell("read", READ)]),
        )
        other = lab.workflow(FIRST, shell("look", LOOK))
        lab.ended(workflow)
        lab.ended(other)
        yield Exchange(lab, workflow, other)


def test_tasks_run_in_order_each_on_its_machine(exchange: Exchange) -> None:
    lab = exchange.lab
    assert lab.state(exchange.workflow).state is State.SUCCESS
    workers = {lab.seen(number).id: number for number in (FIRST, SECOND)}
    events = lab.appliance.events(exchange.workflow)
    started = [(workers[each["worker"]], each["action"]) for each in events if each["kind"] == "action.started"]
    assert started == [(FIRST, "write"), (SECOND, "look"), (SECOND, "answer"), (FIRST, "read")]
    assert len([each for each in events if each["kind"] == "action.succeeded"]) == len(started)


def test_files_of_any_kind_arrive_unchanged(exchange: Exchange) -> None:
    newest = saved(exchange, 0)
    blob, reply = ((newest / name).read_bytes() for name in ("keys/blob", "reply"))
    assert (len(blob), len(reply)) == (3 << 20, 16 << 10)
    printed = exchange.lab.appliance.command("workflow", "logs", exchange.workflow).splitlines()
    assert [line for line in printed if "blob: " in line] == [f"blob: {digest(blob)}"] * 3
    assert [line for line in printed if "reply: " in line] == [f"reply: {digest(reply)}"] * 2


def test_operator_reads_the_data_and_its_earlier_versions(exchange: Exchange) -> None:
    lab = exchange.lab
    assert json.loads(lab.appliance.command("workflow", "data", exchange.workflow)) == WRITTEN | ADDED
    first, newest = saved(exchange, 1), saved(exchange, 0)
    assert json.loads((first / "data").read_text()) == WRITTEN
    assert (first / ODD_NAME).read_bytes() == ODD
    assert not (newest / ODD_NAME).exists()
    assert (newest / "link").readlink() == Path("keys/blob")
    assert sorted(path.name for path in newest.iterdir()) == ["data", "keys", "link", "reply"]


def test_other_workflow_begins_without_data(exchange: Exchange) -> None:
    lab = exchange.lab
    assert lab.state(exchange.other).state is State.SUCCESS
    assert lab.json("workflow", "data", "--list", exchange.other) == []


def saved(exchange: Exchange, version: int) -> Path:
    """The files of a version of the data, 0 the newest."""
    folder = Path(tempfile.mkdtemp(dir=exchange.lab.work))
    exchange.lab.appliance.command("workflow", "data", "-v", str(version), "--save", folder / "data", exchange.workflow)
    return folder / "data"


def digest(content: bytes) -> str:
    """As md5sum prints it of its input."""
    return f"{hashlib.md5(content).hexdigest()}  -"
