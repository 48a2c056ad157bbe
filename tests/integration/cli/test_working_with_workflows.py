"""Tinkerbell's document "Working with Workflows" (2020-07-28) as a script, in an old script's words.

tests/golden/cli/working-with-workflows.txt is a terminal session: the document's commands as it prints
them, `tink` being tinkbox, and what they answer.  Ids and times differ from run to run, so those that
the session got are replaced by the document's.
"""

import asyncio
import json
import os
import re
import subprocess
import sys
from pathlib import Path

from tests.golden import text
from tests.integration.cli.serving import ROOT, configure, run, serving
from tests.workers import door_of
from tinkbox.model.workflow import Outcome, State
from tinkbox.wire import ephemeral_data as bundle
from tinkbox.wire.messages.worker import Hello, Report, decode_credential

SESSION = "cli/working-with-workflows.txt"
OLD = "TINKBOX_FORMAT=tink"  # as in `alias tink='TINKBOX_FORMAT=tink tinkbox'`
INTERLUDE = "# the worker runs the workflow\n"
TEMPLATE_ID = "75ab8483-6f42-42a9-a80d-a9f6196130df"
WORKFLOW_ID = "a8984b09-566d-47ba-b6c5-fbe482d8ad7f"
HARDWARE = {
    "id": "ce2e62ed-826f-4485-a39f-a82bb74338e2",
    "network": {
        "interfaces": [
            {
                "dhcp": {
                    "mac": "08:00:27:00:00:01",
                    "ip": {"address": "192.168.1.5", "netmask": "255.255.255.248", "gateway": "192.168.1.1"},
                },
                "netboot": {"allow_pxe": True, "allow_workflow": True},
            }
        ]
    },
}
TEMPLATE = """\
version: "0.1"
name: hello_world_workflow
global_timeout: 600
tasks:
  - name: "hello world"
    worker: "{{.device_1}}"
    actions:
      - name: "hello_world"
        image: hello-world
        timeout: 60
"""
DATA = {
    "instance_id": "123e4567-e89b-12d3-a456-426655440000",
    "mac_addr": "F5:C9:E2:99:BD:9B",
    "operating_system": "ubuntu_18_04",
}


def test_every_command_of_the_document_works_as_printed(tmp_path: Path) -> None:
    (tmp_path / "hardware.json").write_text(json.dumps(HARDWARE))
    (tmp_path / "hello-world.tmpl").write_text(TEMPLATE)
    (tmp_path / "changed.tmpl").write_text(TEMPLATE.replace("image: hello-world", "image: changed"))
    configuration = configure(tmp_path)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "tink").write_text(
        f'#!/bin/sh\n{OLD} PYTHONPATH={ROOT} exec {sys.executable} -m tinkbox "$@"\n'
    )
    (tmp_path / "bin" / "tink").chmod(0o755)
    with serving(configuration):
        environment = {
            **os.environ,
            "PATH": f"{tmp_path}/bin:{os.environ['PATH']}",
            "TINKBOX_SERVER": f"127.0.0.1:{configuration.operator_port}",
            "SSL_CERT_FILE": str(configuration.authority),
            "TINKBOX_TOKEN": (configuration.data / "operator.token").read_text().strip(),
        }
        session = Session(tmp_path, environment)
        before, after = text(SESSION).split(INTERLUDE)
        for command in commands(before):
            session.type(command)
        credential = run("--data", str(configuration.data), "hardware", "credential", "08:00:27:00:00:01").out
        asyncio.run(worker_runs_the_workflow(credential))
        session.screen += INTERLUDE
        for command in commands(after):
            session.type(command)
    assert session.screen == text(SESSION)


def commands(session: str) -> list[str]:
    """What was typed: the lines after `$`, with those that a backslash continues."""
    return re.findall(r"^\$ ((?:.*\\\n)*.*)$", session, re.MULTILINE)


class Session:
    """A terminal session that shows the document's ids and times instead of its own."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.screen = ""
        self._folder = folder
        self._environment = environment
        self._ids: dict[str, str] = {}

    def type(self, command: str) -> None:
        self.screen += f"$ {command}\n"
        for documented, ours in self._ids.items():
            command = command.replace(documented, ours)
        ended = subprocess.run(
            ["sh", "-c", command],
            cwd=self._folder,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        assert ended.returncode == 0, command
        # Who creates a workflow is told beside the screen what the appliance lacks for it.
        warned = [line for line in ended.stderr.splitlines() if not re.search("no OSIE|not in the registry", line)]
        assert not warned, command
        assert not ended.stderr or "workflow create" in command, command
        self.screen += self._documented(ended.stdout)

    def _documented(self, output: str) -> str:
        for what, documented in (("Template", TEMPLATE_ID), ("Workflow", WORKFLOW_ID)):
            if created := re.match(rf"Created {what}:  (\S+)$", output):
                self._ids[documented] = created[1]
        for documented, ours in self._ids.items():
            output = output.replace(ours, documented)
        output = re.sub(r"\d( \| (?:Started|Finished) )", r"0\1", output)  # seconds
        output = re.sub(r"^\d{4}/\d\d/\d\d \d\d:\d\d:\d\d ", "2020/07/28 03:00:00 ", output)
        return re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \+0000 UTC", "2020-07-28 03:00:00 +0000 UTC", output)


async def worker_runs_the_workflow(credential: str) -> None:
    """What `tinkbox --worker` tells the appliance about an action that prints, leaves data and succeeds."""
    async with door_of(decode_credential(credential)) as door:
        offer = await door.next(Hello(boot_id="boot-1"))
        assert offer is not None
        assert offer.action.spec.image == "hello-world"
        await door.output(offer.attempt, 0, b"Hello from Docker!\n")
        await door.keep_data(
            offer.attempt, bundle.encode([bundle.Entry(path="data", content=json.dumps(DATA).encode())])
        )
        outcome = Outcome(state=State.SUCCESS, exit_code=0)
        report = Report(workflow_id=offer.workflow_id, boot_id="boot-1", outcome=outcome)
        await door.report(offer.attempt, report)
