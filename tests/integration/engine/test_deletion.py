"""What people delete is in no file of the data folder once the appliance was restarted, and cannot be searched for there."""

import json
import sqlite3
from contextlib import closing
from itertools import count
from pathlib import Path

from tests.integration.engine.appliance import Appliance, appliance, hardware, mac
from tests.integration.engine.serving import packed
from tinkbox.model.documents.hardware import parse_hardware
from tinkbox.model.workflow import State

TEMPLATE = """\
version: "0.1"
name: printing
tasks:
  - name: os-installation
    worker: "{{.device_1}}"
    actions:
      - {name: print, image: print, environment: {TEXT: in-the-template}, secrets: [{name: db, env: DB}]}
"""
WORDS = (b"root:$6$of-user-data", b"root:$6$of-a-short-one", b"in-workflow-data", b"in-the-output", b"in-the-message", b"in-the-template")  # fmt: skip


def in_files(folder: Path) -> bytes:
    return b"\n".join(each.read_bytes() for each in sorted(folder.rglob("*")) if each.is_file())


def sealed_in(path: Path) -> list[bytes]:
    with closing(sqlite3.connect(path)) as connection:
        return [row[0] for row in connection.execute("SELECT sealed FROM secret")]


async def fill(box: Appliance) -> str:
    """Two machines, of which one has a workflow that is over; returns its id."""
    for number, user_data in ((1, "root:$6$of-user-data " * 2_000), (2, "root:$6$of-a-short-one")):
        await box.machines.push(parse_hardware(json.dumps(hardware(number) | {"userData": user_data})))
    await box.secrets.set("db", b"first value", "ann")
    await box.secrets.set("db", b"second value", "ann")
    worker = str(box.machines.known.find(mac(1)).hardware.id)
    workflow = await box.workflow(TEMPLATE)
    offer = await box.offer(worker)
    assert offer is not None
    await box.attempts.keep_data(worker, offer.attempt, packed({"notes": "in-workflow-data " * 1_000}))
    await box.attempts.output(worker, offer.attempt, 0, b"in-the-output\n" * 1_000)
    await box.report(worker, offer, State.FAILED, message="in-the-message")
    return workflow


async def test_bytes_of_what_was_deleted_are_in_no_file_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "tinkbox.sqlite"
    async with appliance(path, numbers=count(1)) as box:
        workflow = await fill(box)
        words = (*WORDS, *sealed_in(path))
        (template,) = await box.templates.all()
    found = in_files(tmp_path)
    assert [each for each in words if each not in found] == [], "all of it was there"
    async with appliance(path, numbers=count(1_000)) as box:
        await box.workflows.delete(workflow)
        await box.templates.delete(template.id)
        await box.secrets.delete("db")
        for number in (1, 2):
            await box.departures.delete(mac(number), "ann")
    async with appliance(path, numbers=count(2_000)):
        found = in_files(tmp_path)
    assert [each for each in words if each in found] == []
